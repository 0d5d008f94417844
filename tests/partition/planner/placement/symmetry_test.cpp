#include "partition/planner/placement/symmetry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace penstock::partition {
namespace {

/// Nodes of `devices` each, the first half of them fast; all links between nodes are alike.
Cluster halves(int nodes, int devices) {
  Cluster cluster;
  for (int node = 0; node < nodes; ++node) {
    cluster.nodes.push_back("n");
    for (int i = 0; i < devices; ++i)
      cluster.devices.push_back({.kind = "k", .speed = node < nodes / 2 ? 2.0 : 1.0, .node = node});
  }
  cluster.node_links.assign(static_cast<std::size_t>(nodes) * nodes, {1e-5, 1e9});
  return cluster;
}

std::vector<int> shuffled(int count, std::mt19937& random) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  return order;
}

TEST(Symmetry, NamesWhatIsTheSameAlike) {
  constexpr int kNodes = 6, kDevices = 5;
  const Cluster cluster = halves(kNodes, kDevices);
  const Symmetry symmetry(cluster);
  std::mt19937 random(23);
  for (int i = 0; i < 200; ++i) {
    const std::vector<int> order = shuffled(cluster.size(), random);
    Placement placement(3), renamed(3);
    for (int slot = 0; slot < 12; ++slot) placement[slot % 3].push_back(order[slot]);
    const auto fast = shuffled(kNodes / 2, random), slow = shuffled(kNodes / 2, random);
    const auto replicas = shuffled(4, random);
    std::vector<std::vector<int>> within;
    for (int node = 0; node < kNodes; ++node) within.push_back(shuffled(kDevices, random));
    for (std::size_t k = 0; k < 3; ++k)
      for (const int r : replicas) {
        const int device = placement[k][r], node = device / kDevices;
        const int to = node < kNodes / 2 ? fast[node] : kNodes / 2 + slow[node - kNodes / 2];
        renamed[k].push_back(kDevices * to + within[node][device % kDevices]);
      }
    EXPECT_EQ(symmetry.canonical(placement), symmetry.canonical(renamed)) << i;
  }
}

TEST(Symmetry, NamesWhatDiffersDifferently) {
  const Cluster cluster = halves(4, 3);
  const Symmetry symmetry(cluster);
  const auto same = [&](const Placement& one, const Placement& other) {
    return symmetry.canonical(one) == symmetry.canonical(other);
  };
  EXPECT_FALSE(same({{0}, {1}}, {{0}, {3}}));              // in a node or in two
  EXPECT_FALSE(same({{0}, {1}}, {{0}, {6}}));              // fast and slow
  EXPECT_FALSE(same({{0}, {6}}, {{6}, {0}}));              // in another order
  EXPECT_FALSE(same({{0, 3}, {1, 4}}, {{0, 3}, {4, 1}}));  // pipelines cross nodes
  EXPECT_TRUE(same({{0, 3}, {1, 4}}, {{5, 2}, {3, 1}}));
}

}  // namespace
}  // namespace penstock::partition
