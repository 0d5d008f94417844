#include "layers/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::layers {
namespace {

// Random123's kat_vectors, philox4x32-10.
TEST(Philox, GivesThePublishedNumbers) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsDifferInEveryPartOfTheirIdentity) {
  std::set<PhiloxBlock> blocks;
  for (std::uint64_t seed : {1ull, 2ull, 1ull << 32})
    for (PhiloxBlock whose : {PhiloxBlock{}, PhiloxBlock{1}, PhiloxBlock{0, 1},
                              PhiloxBlock{0, 0, 1}, PhiloxBlock{0, 0, 0, 1}})
      for (std::uint32_t x : {0, 1})
        for (std::uint32_t y : {0, 1}) blocks.insert(philox_stream(seed, whose)(x, y));
  EXPECT_EQ(blocks.size(), 3u * 5 * 2 * 2);
}

TEST(Philox, HashesNamesAsFnv1a) {
  EXPECT_EQ(hash_of_name(""), 0x811c9dc5u);
  EXPECT_EQ(hash_of_name("foobar"), 0xbf9cf968u);
}

}  // namespace
}  // namespace penstock::layers
