#include "partition/planner/simulate/memory.h"

#include <gtest/gtest.h>

#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

TEST(MemoryOverTime, FollowsThePasses) {
  const Schedule schedule = make_schedule("zb-h1", 1, 2);  // F0 B0 W0 F1 B1 W1
  const Simulation run = simulate(schedule, equal_micro_batches({{1, 2, 4}}));
  const auto memory = memory_over_time(run, [](int, int batch) {
    return HeldBytes{.to_input_gradient = 10.0, .to_weight_gradient = 3.0 + batch};
  });
  ASSERT_EQ(memory.size(), 1u);
  const std::vector<std::pair<double, double>> expected{{0, 13}, {3, 3},  {7, 0},
                                                        {7, 14}, {10, 4}, {14, 0}};
  ASSERT_EQ(memory[0].size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(memory[0][i].time, expected[i].first);
    EXPECT_DOUBLE_EQ(memory[0][i].bytes, expected[i].second);
  }
  EXPECT_EQ(peaks(memory), std::vector<double>{14});
}

TEST(MemoryOverTime, BothGradientsAtOnceGiveAllBack) {
  const Simulation run =
      simulate(make_schedule("1f1b", 2, 3), equal_micro_batches({{1, 1, 1}, {1, 1, 1}}));
  const auto memory = memory_over_time(run, [](int, int) { return HeldBytes{2, 5}; });
  EXPECT_EQ(peaks(memory), (std::vector<double>{14, 7}));
  for (const auto& points : memory) EXPECT_EQ(points.back().bytes, 0);
}

TEST(PeakActivations, OfForwardsAloneIsOne) {
  EXPECT_EQ(peak_activations(forward_only({0, 1}, 3)), (std::vector<int>{1, 1}));
}

}  // namespace
}  // namespace penstock::partition
