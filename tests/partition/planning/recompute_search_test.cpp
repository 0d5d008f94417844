#include "partition/planning/recompute_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/support/chosen_layers.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Bytes of every choice of a chunk's layers.
std::vector<double> bytes_of_choices(const Chain& chain, const test::ChunkAt& at) {
  std::vector<double> bytes;
  for (int mask = 0; mask < 1 << (at.last - at.first); ++mask)
    bytes.push_back(static_cast<double>(
        test::bytes_with(chain, at.schedule,
                         test::chosen_by(mask, at.first, at.last, chain.size()))(at.first, at.last,
                                                                                 at.chunk)
            .total()));
  return bytes;
}

double seconds_of(const std::vector<double>& forward, unsigned mask, int first) {
  double seconds = 0;
  for (int i = 0; mask >> i != 0; ++i)
    if ((mask >> i & 1) != 0) seconds += forward[first + i];
  return seconds;
}

TEST(RecomputeSearch, EqualsTryingAllChoices) {
  const Chain chain = test::chain_to_choose_from();
  std::mt19937 draw(5);
  int partial = 0, infeasible = 0, below_all = 0, tried = 0;
  for (const test::ChunkAt& at : test::chunks_to_choose_from()) {
    const std::vector<double> bytes = bytes_of_choices(chain, at);
    const double least = std::ranges::min(bytes), kept = bytes.front();
    for (int round = 0; round < 60; ++round) {
      std::vector<double> forward;
      for (int i = 0; i < chain.size(); ++i) forward.push_back(1 + static_cast<double>(draw() % 9));
      const double limit = least + (kept - least) * (static_cast<double>(draw() % 120) - 10) / 100;
      double best = kNever;
      for (unsigned mask = 0; mask < bytes.size(); ++mask)
        if (bytes[mask] <= limit) best = std::min(best, seconds_of(forward, mask, at.first));

      const ChunkBytes none = test::bytes_with(chain, at.schedule, {});
      RecomputeSearch search(none, forward);
      const auto& found = search.within(at.first, at.last, at.chunk, limit);
      ++tried;
      infeasible += best == kNever;
      ASSERT_EQ(found.has_value(), best < kNever) << at.schedule << ", " << limit;
      if (!found) continue;
      EXPECT_TRUE(found->exact);
      unsigned mask = 0;
      for (std::size_t i = 0; i < found->layers.size(); ++i)
        mask |= static_cast<unsigned>(found->layers[i]) << i;
      EXPECT_LE(bytes[mask], limit);
      EXPECT_DOUBLE_EQ(seconds_of(forward, mask, at.first), best);
      EXPECT_DOUBLE_EQ(found->seconds, best) << at.schedule << ", " << limit;
      partial += mask != 0 && mask + 1 != bytes.size();
      below_all += bytes[mask] < bytes.back();
    }
  }
  EXPECT_GT(partial, tried / 3);
  EXPECT_GT(infeasible, 5);
  EXPECT_GT(below_all, 0);  // some layers, yet less memory than with all
}

}  // namespace
}  // namespace penstock
