#include "base/bit_reversal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace penstock {
namespace {

TEST(BitReversal, ReadsBitsFromTheLowest) {
  EXPECT_EQ(bit_reversed(8), (std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(bit_reversed(6), (std::vector<int>{0, 4, 2, 1, 5, 3}));
  EXPECT_EQ(bit_reversed_places(6), (std::vector<int>{0, 3, 2, 5, 1, 4}));
}

TEST(BitReversal, KeepsNumbersWithEqualLowBitsTogether) {
  for (int count = 1; count <= 70; ++count) {
    const std::vector<int> numbers = bit_reversed(count);
    EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), numbers.size());
    EXPECT_EQ(*std::ranges::max_element(numbers), count - 1);
    for (const int period : {2, 4, 8, 64}) {
      int changes = 1;
      for (std::size_t i = 1; i < numbers.size(); ++i)
        changes += numbers[i] % period != numbers[i - 1] % period;
      EXPECT_EQ(changes, std::min(period, count)) << count << " by " << period;
    }
  }
}

}  // namespace
}  // namespace penstock
