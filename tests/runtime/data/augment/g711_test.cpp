#include "runtime/data/augment/g711.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace penstock::runtime {
namespace {

/// Sums the results for all samples, each times a number of its own.
template <class Law>
std::int64_t weighted_sum(Law&& law, std::set<int>& levels) {
  std::int64_t sum = 0;
  for (int i = 0; i < 65536; ++i) {
    const int level = law(static_cast<std::int16_t>(i - 32768));
    sum += std::int64_t{level} * (i % 997 + 1);
    levels.insert(level);
  }
  return sum;
}

// Python 3.11's audioop: ulaw2lin(lin2ulaw(x, 2), 2)
TEST(G711, MulawEqualsAudioopForEverySample) {
  std::set<int> levels;
  EXPECT_EQ(weighted_sum(through_mulaw, levels), 2945307084);
  EXPECT_EQ(levels.size(), 255u);  // +0 and -0 are one
  for (const auto& [from, to] : {std::pair{-32768, -32124},
                                 {-1000, -988},
                                 {-1, -8},
                                 {3, 0},
                                 {4, 8},
                                 {1234, 1244},
                                 {32767, 32124}})
    EXPECT_EQ(through_mulaw(static_cast<std::int16_t>(from)), to);
}

// alaw2lin(lin2alaw(x, 2), 2)
TEST(G711, AlawEqualsAudioopForEverySample) {
  std::set<int> levels;
  EXPECT_EQ(weighted_sum(through_alaw, levels), 2658150376);
  EXPECT_EQ(levels.size(), 256u);
  for (const auto& [from, to] : {std::pair{-32768, -32256},
                                 {-1000, -1008},
                                 {-1, -8},
                                 {0, 8},
                                 {100, 104},
                                 {1234, 1248},
                                 {32767, 32256}})
    EXPECT_EQ(through_alaw(static_cast<std::int16_t>(from)), to);
}

}  // namespace
}  // namespace penstock::runtime
