#include "partition/planner/placement/exact/stage_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

SequenceLoad five_layers() {
  SequenceProfile sequence{"five", {}};
  for (const double forward : {3.0, 1.0, 4.0, 1.0, 5.0})
    sequence.layers.push_back({.name = "layer",
                               .forward_ms = forward,
                               .backward_ms = 2 * forward,
                               .activation_bytes = 7,
                               .parameter_bytes = 11});
  return {sequence, SequenceLoad::Crossing::bytes};
}

PlacementProblem on(Cluster cluster, int micro_batches = 6) {
  return {.sequence = five_layers(), .cluster = std::move(cluster), .micro_batches = micro_batches};
}

Cluster unlike(int devices) {
  Cluster cluster;
  cluster.nodes = {"node"};
  cluster.node_links = {{.latency = 1e-3, .bandwidth = 1e3}};
  for (int i = 0; i < devices; ++i)
    cluster.devices.push_back({.kind = std::to_string(i), .memory = 1e9, .speed = 1 + 0.25 * i});
  return cluster;
}

/// Returns the placements of all paths of the graph, with a stage's replicas in order.
std::multiset<Placement> placements(const StageGraph& graph) {
  std::multiset<Placement> all;
  std::vector<int> path;
  const std::function<void(int, int)> follow = [&](int placed, int state) {
    EXPECT_GE(state, graph.states_begin(placed));
    EXPECT_LT(state, graph.states_end(placed));
    if (placed == graph.grid.stages) {
      Placement placement = graph.placement(path);
      for (auto& stage : placement) std::ranges::sort(stage);
      all.insert(placement);
      return;
    }
    path.push_back(state);
    for (int edge = graph.edges_begin(state); edge < graph.edges_end(state); ++edge)
      follow(placed + 1, graph.target[edge]);
    path.pop_back();
  };
  for (int state = graph.states_begin(0); state < graph.states_end(0); ++state) follow(0, state);
  return all;
}

std::size_t distinct(const std::multiset<Placement>& all) {
  return std::set(all.begin(), all.end()).size();
}

TEST(StageGraph, HasEveryPermutationOfDevicesThatDiffer) {
  const PlacementProblem problem = on(unlike(4));
  const auto three = stage_graph(problem, {3, 1}, {.slowest = kInfeasible, .edges = 10'000});
  ASSERT_TRUE(three);
  const auto all = placements(*three);
  EXPECT_EQ(distinct(all), 24u);
  EXPECT_EQ(all.size(), 24u);  // each by one path
  for (const Placement& placement : all) {
    std::set<int> used;
    for (const auto& stage : placement) used.insert(stage.begin(), stage.end());
    EXPECT_EQ(used.size(), 3u);
  }
  const auto pairs = stage_graph(problem, {2, 2}, {.slowest = kInfeasible, .edges = 10'000});
  ASSERT_TRUE(pairs);
  EXPECT_EQ(distinct(placements(*pairs)), 6u);  // which two are first
  EXPECT_EQ(placements(*pairs).size(), 12u);    // and which of them lies before which
}

TEST(StageGraph, TriesDevicesThatMayBeExchangedOnce) {
  Cluster alike = unlike(4);
  for (Device& device : alike.devices) device = alike.devices[0];
  const auto graph = stage_graph(on(alike), {3, 1}, {.slowest = kInfeasible, .edges = 10'000});
  ASSERT_TRUE(graph);
  EXPECT_EQ(placements(*graph).size(), 1u);
  alike.devices[2].speed = 3;
  const auto one_faster = stage_graph(on(alike), {3, 1}, {.slowest = kInfeasible, .edges = 10'000});
  ASSERT_TRUE(one_faster);
  EXPECT_EQ(placements(*one_faster).size(), 4u);  // it is one of three, or left out
}

TEST(StageGraph, HasTheRatesAndMemoryOfItsPlacements) {
  const PlacementProblem problem = on(unlike(3));
  const auto graph = stage_graph(problem, {3, 1}, {.slowest = kInfeasible, .edges = 10'000});
  ASSERT_TRUE(graph);
  // Along the first path.
  std::vector<int> path{graph->states_begin(0)};
  std::vector<int> edges;
  while (std::ssize(path) < 4) {
    edges.push_back(graph->edges_begin(path.back()));
    path.push_back(graph->target[edges.back()]);
  }
  path.pop_back();
  const auto costs = stage_costs(problem, graph->placement(path));
  for (int k = 0; k < 3; ++k) {
    const Rate& rate = graph->rates[*graph->rates_of(edges[k])];
    EXPECT_DOUBLE_EQ(rate.load(problem.sequence, k, k + 2),
                     costs[k].load(problem.sequence, k, k + 2));
    EXPECT_EQ(graph->memories[graph->memory[path[k]]], costs[k].memory);
  }
}

TEST(StageGraph, LeavesOutWhatCannotDoTheWork) {
  const PlacementProblem problem = on(unlike(4));  // 42 ms of work; speeds of 1 to 1.75
  const auto all = stage_graph(problem, {2, 1}, {.slowest = kInfeasible, .edges = 10'000});
  const auto fast = stage_graph(problem, {2, 1}, {.slowest = 0.0131, .edges = 10'000});
  ASSERT_TRUE(all && fast);
  EXPECT_EQ(distinct(placements(*all)), 12u);
  // Together 3.2 times as fast as one are but the two fastest.
  EXPECT_EQ(distinct(placements(*fast)), 2u);
  EXPECT_FALSE(stage_graph(problem, {3, 1}, {.slowest = kInfeasible, .edges = 10}));
}

}  // namespace
}  // namespace penstock::partition
