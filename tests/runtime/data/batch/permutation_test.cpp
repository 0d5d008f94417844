#include "runtime/data/batch/permutation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace penstock::runtime {
namespace {

std::vector<std::uint64_t> all_of(std::uint64_t count, std::uint64_t key) {
  const Permutation order(count, key);
  std::vector<std::uint64_t> all;
  for (std::uint64_t place = 0; place < count; ++place) all.push_back(order(place));
  return all;
}

TEST(Permutation, HoldsEachNumberOnce) {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 257, 1021, 4097})
    for (const std::uint64_t key : {0, 7}) {
      const auto all = all_of(count, key);
      const std::set<std::uint64_t> numbers(all.begin(), all.end());
      EXPECT_EQ(numbers.size(), count);
      EXPECT_EQ(*numbers.rbegin(), count - 1);
    }
}

TEST(Permutation, ReachesBeyond32Bits) {
  const std::uint64_t count = (std::uint64_t{1} << 33) + 5;
  const Permutation order(count, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t place = count - 1000; place < count; ++place) {
    EXPECT_LT(order(place), count);
    seen.insert(order(place));
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Permutation, FollowsFromItsKey) {
  EXPECT_EQ(all_of(97, 5), all_of(97, 5));
  EXPECT_NE(all_of(97, 5), all_of(97, 6));
}

/// Every number is as likely as another at every place: of 2,000 keys, 250 each.
TEST(Permutation, PutsEveryNumberEverywhere) {
  std::vector<std::vector<int>> times(8, std::vector<int>(8));
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const auto all = all_of(8, key);
    for (std::size_t place = 0; place < 8; ++place) ++times[place][all[place]];
  }
  // Binomial with deviation sqrt(2000 × 1/8 × 7/8) = 14.8: five of them.
  for (const auto& of_place : times)
    for (const int count : of_place) EXPECT_NEAR(count, 250, 74);
}

}  // namespace
}  // namespace penstock::runtime
