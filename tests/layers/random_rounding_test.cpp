#include "layers/random_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "layers/ops/optimizer.h"
#include "layers/tensor/dtype.h"

namespace penstock::layers {
namespace {

// The share of all 65,536 random numbers that round up equals the share of a spacing that is cut
// off.
TEST(RandomRounding, GoesUpAsOftenAsItShould) {
  for (const float value : {1.0f + 0x1p-10f, -3.0f - 0x1.8p-9f, 0x1.234p-100f, 5.0f}) {
    double sum = 0;
    for (std::uint32_t random = 0; random < 0x10000; ++random) {
      const float rounded = from_bfloat16_bits(round_at_random(value, random));
      EXPECT_LE(std::abs(rounded - value), std::abs(value) * 0x1p-7f);
      sum += rounded;
    }
    EXPECT_EQ(sum / 0x10000, value);
  }
}

TEST(RandomRounding, LeavesWhatABfloat16Holds) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, 1.5f, -0x1p-126f, infinity, -infinity})
    EXPECT_EQ(round_at_random(value, 0xffff), to_bfloat16(value).bits) << value;
  EXPECT_TRUE(std::isnan(from_bfloat16_bits(round_at_random(NAN, 0xffff))));
}

TEST(RandomRounding, TakesLowBitsOfAWordAlone) {
  EXPECT_EQ(round_at_random(1 + 0x1p-8f, 0x7fff), round_at_random(1 + 0x1p-8f, 0xabcd7fff));
}

TEST(RandomRounding, NoTwoElementsBlocksOrStepsAreAlike) {
  const RoundingBits bits{slot_random(7, 3)};
  const std::uint32_t word = bits(2, 5);
  EXPECT_EQ(word, bits.of_four(2, 4)[1]);
  EXPECT_NE(word, bits(2, 4));
  EXPECT_NE(word, bits(2, 9));
  EXPECT_NE(word, bits(3, 5));
  EXPECT_NE(word, (RoundingBits{slot_random(7, 4)}(2, 5)));
  EXPECT_NE(word, (RoundingBits{slot_random(8, 3)}(2, 5)));
}

}  // namespace
}  // namespace penstock::layers
