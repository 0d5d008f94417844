#include "layers/nn/pieces.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::layers {
namespace {

const std::vector<std::int64_t> kCut = {7, 0, 3, 6};

TEST(Pieces, AreFullBesidesTheLast) {
  EXPECT_EQ(pieces_of(kCut, 3), (std::vector<std::int64_t>{3, 3, 1, 3, 3, 3}));
  EXPECT_EQ(pieces_of(kCut, 100), (std::vector<std::int64_t>{7, 3, 6}));
  EXPECT_EQ(pieces_of(kCut, 0), kCut);
}

TEST(Pieces, HaveNumbersOfTheirOwn) {
  const std::vector<std::uint64_t> utterances = {4, 8, 15, 16};
  const auto keys = keys_of_pieces(kCut, 3, utterances);
  EXPECT_EQ(keys.size(), pieces_of(kCut, 3).size());
  EXPECT_EQ(std::set<std::uint64_t>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ((std::vector{keys[0], keys[3], keys[4]}), (std::vector<std::uint64_t>{4, 15, 16}));
  EXPECT_EQ(keys_of_pieces(kCut, 0, utterances), utterances);
}

}  // namespace
}  // namespace penstock::layers
