#include "runtime/checkpoint/hash.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Hash, IsWhatXxhsumPrints) {  // xxhsum -H2
  EXPECT_EQ(xxh3_128(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128("penstock"), "c6932a2f07b073d6763ffab4001f7bdf");
}

}  // namespace
}  // namespace penstock
