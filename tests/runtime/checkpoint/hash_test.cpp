#include "runtime/checkpoint/hash.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::runtime {
namespace {

TEST(Hash, IsWhatXxhsumPrints) {  // xxhsum -H2
  EXPECT_EQ(xxh3_128(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128("penstock"), "c6932a2f07b073d6763ffab4001f7bdf");
}

TEST(Hash, DoesNotSayHowBytesCame) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(7 * i);
  const auto bytes = std::as_bytes(std::span(text));
  for (const std::size_t max : {1, 13, 255, 257, 4999}) {
    Xxh3 hash;
    for (std::size_t begin = 0; begin < bytes.size(); begin += max)
      hash.add(bytes.subspan(begin, std::min(max, bytes.size() - begin)));
    EXPECT_EQ(hash.digest(), xxh3_128(text)) << max;
  }
}

}  // namespace
}  // namespace penstock::runtime
