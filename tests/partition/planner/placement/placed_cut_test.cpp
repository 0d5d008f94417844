#include "partition/planner/placement/placed_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/partition/large_instances.h"

namespace penstock::partition {
namespace {

/// The least bottleneck over all cuts into so many stages of one device each, which are in order.
std::optional<double> best_by_trying(const test::Instance& instance, const Placement& placement) {
  const int layers = instance.problem().sequence.size(),
            stages = static_cast<int>(placement.size());
  std::optional<double> best;
  for (int cuts = 0; cuts < 1 << (layers - 1); ++cuts) {
    std::vector<int> begin{0};
    for (int layer = 1; layer < layers; ++layer)
      if (cuts >> (layer - 1) & 1) begin.push_back(layer);
    begin.push_back(layers);
    if (std::ssize(begin) != stages + 1) continue;
    const auto value = test::value_of(instance, begin, placement);
    if (value && (!best || *value < *best)) best = value;
  }
  return best;
}

TEST(CutWithin, FindsTheLeastBottleneckWithinTheLimit) {
  std::mt19937 random(51);
  int cut = 0, unfit = 0;
  for (int round = 0; round < 300; ++round) {
    test::Instance instance = test::random_instance(random);
    instance.objective = Objective::bottleneck;
    const PlacementProblem problem = instance.problem();
    const int stages = std::min({1 + round % 4, problem.sequence.size(), problem.cluster.size()});
    Placement placement;
    for (int stage = 0; stage < stages; ++stage) placement.push_back({stage});
    const auto best = best_by_trying(instance, placement);
    const auto placed = cut_within(problem, placement, 1e9);
    ASSERT_EQ(placed.has_value(), best.has_value()) << round;
    if (!best) {
      ++unfit;
      continue;
    }
    EXPECT_NEAR(placed->cut.value, *best, 1e-9 * *best) << round;
    EXPECT_EQ(placed->devices, placement);
    EXPECT_TRUE(cut_within(problem, placement, *best)) << round << ": no room for rounding";
    EXPECT_FALSE(cut_within(problem, placement, 0.999 * *best)) << round;
    ++cut;
  }
  EXPECT_GT(cut, 100);
  EXPECT_GT(unfit, 5);
}

}  // namespace
}  // namespace penstock::partition
