#include "partition/planner/placement/problem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "partition/planner/placement/search.h"

namespace penstock::partition {
namespace {

/// Two layers on two devices; 1,000 bytes cross. There a byte takes 1 µs, back 9 µs.
PlacementProblem with_a_slow_way_back() {
  SequenceProfile sequence{.name = "two", .layers = {}};
  for (int i = 0; i < 2; ++i)
    sequence.layers.push_back(
        {.name = "layer", .forward_ms = 5, .backward_ms = 7, .activation_bytes = 1000});
  PlacementProblem problem{.sequence = SequenceLoad(sequence, SequenceLoad::Crossing::bytes),
                           .cluster = equal_devices(2),
                           .micro_batches = 4};
  problem.cluster.exact_links = {{}, {1e-3, 1e6}, {3e-3, 1e6 / 9}, {}};
  return problem;
}

TEST(Crossing, GradientsTakeTheLinkBack) {
  const PlacementProblem problem = with_a_slow_way_back();
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    EXPECT_DOUBLE_EQ(crossing(problem, from, to).seconds(1000), 1e-3 + 1e-3 + 3e-3 + 9e-3);
  const auto costs = stage_costs(problem, {{0}, {1}});
  EXPECT_DOUBLE_EQ(costs[0].load(problem.sequence, 0, 1), 12e-3 + 14e-3);
  EXPECT_DOUBLE_EQ(costs[1].load(problem.sequence, 1, 2), 12e-3 + 14e-3);
}

TEST(Crossing, InSecondsGoesOneWay) {
  PlacementProblem problem = with_a_slow_way_back();
  problem.sequence = SequenceLoad({.name = "one", .layers = {{.name = "layer", .transfer_ms = 2}}},
                                  SequenceLoad::Crossing::seconds);
  problem.cluster = equal_devices(2);
  EXPECT_DOUBLE_EQ(crossing(problem, 0, 1).seconds(2e-3), 2e-3);
}

TEST(Crossing, BoundsKnowTheBestWayThereAndBack) {
  const PlacementProblem problem = with_a_slow_way_back();
  const auto found = find_placement(problem, {.stages = 2, .replicas = 1});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->value, 5 * 26e-3);
  EXPECT_TRUE(found->exact());
}

}  // namespace
}  // namespace penstock::partition
