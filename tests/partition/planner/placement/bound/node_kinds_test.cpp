#include "partition/planner/placement/bound/node_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::partition {
namespace {

/// Nodes of devices of these speeds, with wide links within and narrow ones between.
PlacementProblem problem_of(const std::vector<std::vector<double>>& nodes) {
  SequenceProfile sequence{.name = "two", .layers = {}};
  for (int i = 0; i < 2; ++i)
    sequence.layers.push_back({.name = "layer", .forward_ms = 1, .activation_bytes = 1});
  Cluster cluster;
  for (int node = 0; node < std::ssize(nodes); ++node) {
    cluster.nodes.push_back("n" + std::to_string(node));
    for (const double speed : nodes[node])
      cluster.devices.push_back({.kind = "k", .memory = 10, .speed = speed, .node = node});
    for (int other = 0; other < std::ssize(nodes); ++other)
      cluster.node_links.push_back({.latency = 0, .bandwidth = node == other ? 8.0 : 2.0});
  }
  return {.sequence = SequenceLoad(sequence, SequenceLoad::Crossing::bytes),
          .cluster = cluster,
          .micro_batches = 4};
}

TEST(DeviceKinds, PartAtTheLargestStepsOfSpeed) {
  const PlacementProblem two = problem_of({{1, 0.4, 1}, {0.4}});
  const DeviceKinds kinds(two.cluster);
  EXPECT_EQ(kinds.speeds, (std::vector{1.0, 0.4}));
  EXPECT_EQ(kinds.of, (std::vector{0, 1, 0, 1}));
  EXPECT_EQ(kinds.devices, (std::vector{2, 2}));
  const PlacementProblem many = problem_of({{1, 0.99, 0.5, 0.2, 0.19, 0.1}});
  const DeviceKinds four(many.cluster);
  EXPECT_EQ(four.speeds, (std::vector{1.0, 0.5, 0.2, 0.1}));
  EXPECT_EQ(four.of, (std::vector{0, 0, 1, 2, 2, 3}));
}

TEST(NodeTypes, StatesSayWhichOfItsDevicesAreLeft) {
  const PlacementProblem problem = problem_of({{1, 1, 0.5}, {0.5, 1, 1}, {0.5, 0.5}});
  const DeviceKinds kinds(problem.cluster);
  const auto types = node_types(problem, kinds, 1);
  ASSERT_EQ(types.size(), 2u);
  const NodeType& slow = types[0];
  EXPECT_EQ(slow.states, 3);
  ASSERT_EQ(slow.stages.size(), 1u);
  EXPECT_EQ(slow.stages[0].per_work, 2);
  EXPECT_GT(slow.stages[0].begun, 0);
  EXPECT_EQ(slow.stages[0].moves.size(), 1u);
  const NodeType& both = types[1];
  EXPECT_EQ(both.states, 3 * 2);  // up to two fast devices, and one slow one
  ASSERT_EQ(both.stages.size(), 2u);
  EXPECT_EQ(both.stages[0].moves.size(), 3u);  // one fast, one slow, both
  EXPECT_EQ(both.stages[1].moves.size(), 2u);  // one or two fast
  EXPECT_EQ(both.within.per_unit, 0.25);
  EXPECT_EQ(both.between.per_unit, 1);
}

TEST(NodeTypes, ReplicasStayInANodeOrCross) {
  const PlacementProblem problem = problem_of({{1, 0.5, 0.5}, {1, 0.5, 0.5}});
  const DeviceKinds kinds(problem.cluster);
  const auto types = node_types(problem, kinds, 2);
  ASSERT_EQ(types.size(), 1u);
  const auto& stages = types.front().stages;
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_EQ(stages[0].per_work, 1);
  EXPECT_EQ(stages[1].per_work, 2);  // beside a slow one
  EXPECT_EQ(stages[0].reduction.per_unit, 4 * stages[1].reduction.per_unit);
  const auto four = node_types(problem, kinds, 4);  // more than a node has
  EXPECT_EQ(four.front().stages.size(), 2u);
  EXPECT_EQ(four.front().stages[0].reduction.per_unit, 2.0 * 3 / 4 / 2 / 1);
}

TEST(NodeTypes, LargeMixedNodesAreNotKnown) {
  std::vector<double> node(20, 1.0);
  node.resize(40, 0.5);
  const PlacementProblem problem = problem_of({node, node});
  const auto types = node_types(problem, DeviceKinds(problem.cluster), 1);
  EXPECT_EQ(types.front().states, 1);
  EXPECT_EQ(types.front().between.per_unit, 0.25);
  EXPECT_TRUE(std::ranges::all_of(types.front().stages, [](const NodeStage& stage) {
    return stage.begun == 0 && stage.moves.empty();
  }));
}

}  // namespace
}  // namespace penstock::partition
