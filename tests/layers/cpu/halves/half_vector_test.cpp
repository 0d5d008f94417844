#include "layers/cpu/halves/half_vector.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace penstock::layers {
namespace {

template <class Number>
class HalfVector : public testing::Test {};
using Halves = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfVector, Halves);

TYPED_TEST(HalfVector, WidensEveryNumberAsOneByOne) {
  std::vector<TypeParam> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(halves.size());
  convert8(halves.data(), wide.data(), 65536);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const float expected = to_float(halves[i]);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(wide[i])) << i;
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << i;
  }
}

// Random bits reach every exponent, subnormals, infinities and NaNs; 13 numbers have a tail.
TYPED_TEST(HalfVector, RoundsAsOneByOne) {
  std::mt19937 random(3);
  std::vector<float> wide(13);
  std::vector<TypeParam> halves(wide.size());
  for (int round = 0; round < 20000; ++round) {
    for (float& x : wide) x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    convert8(wide.data(), halves.data(), 13);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      TypeParam expected;
      round_to(expected, wide[i]);
      if (std::isnan(wide[i]))
        ASSERT_TRUE(std::isnan(to_float(halves[i]))) << wide[i];
      else
        ASSERT_EQ(halves[i].bits, expected.bits) << wide[i];
    }
  }
}

}  // namespace
}  // namespace penstock::layers
