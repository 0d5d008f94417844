#include "layers/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace penstock::layers {
namespace {

TEST(DType, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(half))) continue;
    ASSERT_EQ(to_half(to_float(half)).bits, half.bits) << bits;
  }
}

TEST(DType, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_half(1 + 0x1p-11f).bits, to_half(1).bits);
  EXPECT_EQ(to_half(1 + 3 * 0x1p-11f).bits, to_half(1 + 0x1p-9f).bits);
  EXPECT_EQ(to_half(65519).bits, 0x7bff);
  EXPECT_EQ(to_half(65520).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-25f).bits, 0);
  EXPECT_EQ(to_half(0x1.8p-25f).bits, 1);
  EXPECT_EQ(to_bfloat16(1 + 0x1p-8f).bits, to_bfloat16(1).bits);
  EXPECT_EQ(to_bfloat16(1 + 3 * 0x1p-8f).bits, to_bfloat16(1 + 0x1p-6f).bits);
}

TEST(DType, KeepsNanAndInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_float(to_half(-infinity)), -infinity);
  EXPECT_EQ(to_float(to_bfloat16(infinity)), infinity);
  EXPECT_TRUE(std::isnan(to_float(to_half(NAN))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

}  // namespace
}  // namespace penstock::layers
