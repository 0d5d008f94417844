#include "partition/planner/placement/adapters.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

/// Two nodes of four devices; pairs of neighbours share an adapter of 6 bytes a second.
Cluster pairs() {
  Cluster cluster;
  cluster.nodes = {"a", "b"};
  for (int device = 0; device < 8; ++device) {
    cluster.devices.push_back({.kind = "k", .node = device / 4});
    cluster.adapters.push_back(device / 2);
  }
  const LinkRates within{.latency = 1, .bandwidth = 100}, between{.latency = 2, .bandwidth = 6};
  cluster.node_links = {within, between, between, within};
  return cluster;
}

TEST(Adapters, ArePassedBetweenNodesAlone) {
  const Cluster cluster = pairs();
  const SharedLinks shared = shared_adapters(cluster, {{0, 3}, {1, 6}});
  EXPECT_EQ(shared.bandwidths, std::vector<double>(8, 6));
  EXPECT_TRUE(shared.route(0, 0, 1).empty());
  EXPECT_EQ(shared.route(1, 0, 1), (std::vector<int>{1, 4 + 3}));
  EXPECT_EQ(shared.route(1, 1, 0), (std::vector<int>{3, 4 + 1}));
}

TEST(Adapters, RingsThatLeaveByOneShareIt) {
  Cluster cluster = pairs();
  const auto slowest = [&](const Placement& placement, int stage) {
    return slowest_of_rings(cluster, placement, stage).bandwidth;
  };
  EXPECT_EQ(slowest({{0, 4}, {2, 6}}, 0), 6);    // by adapters of their own
  EXPECT_EQ(slowest({{0, 4}, {1, 5}}, 0), 3);    // both by the same
  EXPECT_EQ(slowest({{0, 4}, {1, 6}}, 1), 3);    // in the node of one
  EXPECT_EQ(slowest({{0, 1}, {4, 5}}, 0), 100);  // in a node each
  EXPECT_EQ(slowest({{0, 1, 4}, {2, 3, 6}}, 0), 6);
  EXPECT_EQ(slowest_of_rings(cluster, {{0, 4}, {1, 5}}, 0).latency, 2);
  cluster.adapters.clear();
  EXPECT_EQ(slowest({{0, 4}, {1, 5}}, 0), 6);
}

}  // namespace
}  // namespace penstock::partition
