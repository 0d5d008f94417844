#include "layers/code_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/layers/golden.h"

namespace penstock::layers {
namespace {

TEST(CodeMap, IsThatOfBitsandbytes) {
  const test::Golden golden("code_maps");
  for (int code = 0; code < kCodes; ++code) {
    const auto at = static_cast<std::size_t>(code);
    const double with_signs = golden["signed"][at], without = golden["unsigned"][at];
    EXPECT_NEAR(kSignedCodes.values[code], with_signs, 1e-7 * std::abs(with_signs)) << code;
    EXPECT_NEAR(kUnsignedCodes.values[code], without, 1e-7 * without) << code;
  }
}

TEST(CodeMap, RisesAndHasZeroAndOne) {
  for (const CodeMap& map : {kSignedCodes, kUnsignedCodes}) {
    for (int code = 0; code + 1 < kCodes; ++code) {
      EXPECT_LT(map.values[code], map.between[code]);
      EXPECT_LT(map.between[code], map.values[code + 1]);
    }
    EXPECT_EQ(map.values[kCodes - 1], 1);
    EXPECT_EQ(map.values[nearest_code(map.between, 0)], 0);
  }
}

TEST(CodeMap, EveryCodeIsNearestToItsOwnNumber) {
  for (const CodeMap& map : {kSignedCodes, kUnsignedCodes})
    for (int code = 0; code < kCodes; ++code) {
      EXPECT_EQ(nearest_code(map.between, map.values[code]), code);
      if (code == 0) continue;
      const float between = map.between[code - 1];
      EXPECT_EQ(nearest_code(map.between, between), code - 1);
      EXPECT_EQ(nearest_code(map.between, std::nextafter(between, 2.0f)), code);
    }
}

TEST(CodeMap, NoSquareAboveZeroBecomesZero) {
  const float* const between = kUnsignedCodes.between;
  EXPECT_EQ(nearest_code_of_square(between, 0), 0);
  EXPECT_EQ(nearest_code(between, 1e-30f), 0);
  EXPECT_EQ(nearest_code_of_square(between, 1e-30f), 1);
  EXPECT_EQ(nearest_code_of_square(between, 0.5f), nearest_code(between, 0.5f));
}

}  // namespace
}  // namespace penstock::layers
