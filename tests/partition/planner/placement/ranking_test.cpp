#include "partition/planner/placement/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

PlacementProblem sequence_on(Cluster cluster, int micro_batches) {
  SequenceProfile sequence{.name = "chain", .layers = {}};
  for (const double ms : {3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0})
    sequence.layers.push_back({.name = "layer",
                               .forward_ms = ms,
                               .backward_ms = 2 * ms,
                               .activation_bytes = 1e3 * ms,
                               .parameter_bytes = 1e3});
  return {.sequence = SequenceLoad(sequence, SequenceLoad::Crossing::bytes),
          .cluster = std::move(cluster),
          .micro_batches = micro_batches};
}

/// Every pair of devices has a bandwidth of its own.
Cluster all_different(int devices) {
  Cluster cluster = equal_devices(devices);
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to)
      cluster.exact_links.push_back({.latency = 1e-4, .bandwidth = 1e5 * (1 + from * 7 + to * 3)});
  return cluster;
}

TEST(Ranking, HasEveryPermutationOfDevicesThatDiffer) {
  const auto ranked = rank_placements(sequence_on(all_different(4), 5), {4, 1}, {.count = 100});
  std::set<Placement> distinct;
  for (const PlacedCut& placed : ranked) distinct.insert(placed.devices);
  EXPECT_EQ(distinct.size(), 24u);
  EXPECT_TRUE(std::ranges::is_sorted(ranked, {}, [](const auto& p) { return p.cut.value; }));
}

TEST(Ranking, CountsExchangeableReplicasAndDevicesOnce) {
  // The 3 pairings of 4 devices, each with either pair first.
  EXPECT_EQ(rank_placements(sequence_on(all_different(4), 6), {1, 4}, {.count = 100}).size(), 1u);
  EXPECT_EQ(rank_placements(sequence_on(equal_devices(4), 6), {2, 2}, {.count = 100}).size(), 1u);
  EXPECT_EQ(rank_placements(sequence_on(all_different(4), 6), {2, 2}, {.count = 100}).size(), 12u);
}

/// Two nodes alike of two devices alike each, and a third whose links are narrower.
Cluster alike_nodes() {
  Cluster cluster;
  cluster.nodes = {"a", "b", "c"};
  for (int node = 0; node < 3; ++node)
    cluster.devices.insert(cluster.devices.end(), 3, {.kind = "k", .node = node});
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      cluster.node_links.push_back({.latency = 1e-4,
                                    .bandwidth = from == to             ? 1e6
                                                 : from == 2 || to == 2 ? 1e5
                                                                        : 4e5});
  return cluster;
}

/// All renamings of alike nodes and devices, and all orders of replicas, of a placement.
std::set<Placement> renamed(const Placement& placement) {
  std::set<Placement> all;
  std::vector<std::vector<int>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int swapped = 0; swapped < 2; ++swapped)
    for (const auto& a : orders)
      for (const auto& b : orders)
        for (const auto& c : orders)
          for (int turned = 0; turned < 2; ++turned) {
            Placement other = placement;
            for (auto& stage : other) {
              for (int& device : stage) {
                const int node = device / 3 == 2 ? 2 : swapped ? 1 - device / 3 : device / 3;
                device = 3 * node + (node == 0 ? a : node == 1 ? b : c)[device % 3];
              }
              if (turned == 1) std::ranges::reverse(stage);
            }
            all.insert(other);
          }
  return all;
}

TEST(Ranking, HasEachPlacementOnceUpToSymmetry) {
  const PlacementProblem problem = sequence_on(alike_nodes(), 6);
  for (const std::size_t all : {std::size_t{100'000}, std::size_t{10}}) {
    const auto ranked = rank_placements(problem, {3, 2}, {.count = 100'000, .all = all});
    ASSERT_GT(ranked.size(), 3u);
    std::set<Placement> seen;
    for (const PlacedCut& placed : ranked) {
      EXPECT_FALSE(seen.contains(placed.devices));
      seen.merge(renamed(placed.devices));
    }
  }
}

TEST(Ranking, StartsWithTheBestOfTheExactSearch) {
  std::mt19937 random(3);
  for (int i = 0, compared = 0; compared < 60; ++i) {
    const test::Instance instance = test::random_instance(random);
    const PlacementProblem problem = instance.problem();
    const auto best = find_placement(problem, instance.constraints);
    if (!best) continue;
    const auto ranked = rank_placements(problem, best->grid, {});
    ASSERT_EQ(ranked.size(), 1u) << i;
    EXPECT_NEAR(ranked.front().cut.value, best->value, 1e-9 * best->value) << i;
    ++compared;
  }
}

TEST(Ranking, LooksAroundTheBestOfTooManyPlacements) {
  const PlacementProblem problem = sequence_on(all_different(5), 8);
  const auto all = rank_placements(problem, {3, 1}, {.count = 1});
  const auto some = rank_placements(problem, {3, 1}, {.count = 4, .all = 10});
  ASSERT_EQ(some.size(), 4u);
  EXPECT_LE(some.front().cut.value, 1.1 * all.front().cut.value);
  std::set<Placement> distinct;
  for (const PlacedCut& placed : some) distinct.insert(placed.devices);
  EXPECT_EQ(distinct.size(), 4u);
}

TEST(Ranking, LeavesOutWhatDoesNotFit) {
  Cluster cluster = all_different(3);
  for (Device& device : cluster.devices) device.memory = 10;
  EXPECT_TRUE(rank_placements(sequence_on(cluster, 3), {3, 1}, {.count = 9}).empty());
}

}  // namespace
}  // namespace penstock::partition
