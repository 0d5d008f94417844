#include "partition/planner/placement/heuristics/row_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace penstock::partition {
namespace {

/// Nodes of so many devices.
Cluster cluster_of(const std::vector<int>& sizes) {
  Cluster cluster;
  const int nodes = static_cast<int>(sizes.size());
  for (int node = 0; node < nodes; ++node) {
    cluster.nodes.push_back("n" + std::to_string(node));
    for (int i = 0; i < sizes[node]; ++i) cluster.devices.push_back({.kind = "k", .node = node});
  }
  cluster.node_links.assign(sizes.size() * sizes.size(), {.latency = 0, .bandwidth = 1e9});
  return cluster;
}

std::vector<int> devices_in_all(const Cluster& cluster, const RowOrder& order, int replicas) {
  return devices_in(order, cluster, std::vector(cluster.devices.size(), true), replicas);
}

TEST(RowOrders, KeepReplicasTogetherOrApart) {
  const Cluster cluster = cluster_of({3, 3, 3, 3});
  const auto orders = row_orders(cluster, 2);
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(devices_in_all(cluster, orders[0], 2),
            (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(devices_in_all(cluster, orders[1], 2),
            (std::vector{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
}

TEST(RowOrders, LeaveOutWhatFillsNoNodes) {
  const Cluster cluster = cluster_of({3, 1, 2, 2, 4});
  // A stage of nodes 0 and 1, two of nodes 2 and 3.
  EXPECT_EQ(devices_in_all(cluster, {{0, 1, 2, 3, 4}, true}, 2), (std::vector{0, 3, 4, 6, 5, 7}));
}

TEST(RowOrders, HaveMembersAlone) {
  const Cluster cluster = cluster_of({2, 2, 2});
  const std::vector<bool> members{true, false, false, false, true, true};
  EXPECT_EQ(devices_in({{2, 1, 0}}, cluster, members, 2), (std::vector{4, 5, 0}));
}

TEST(RowOrders, OfOneReplicaOrFewNodesAreTogether) {
  const Cluster cluster = cluster_of({2, 2});
  EXPECT_EQ(row_orders(cluster, 1).size(), 1u);
  EXPECT_EQ(row_orders(cluster, 3).size(), 1u);
}

TEST(RowOrders, FollowTheNearestNodes) {
  Cluster cluster = cluster_of({1, 1, 1});
  for (const int link : {2, 6}) cluster.node_links[link].bandwidth = 5e9;  // of nodes 0 and 2
  const auto orders = row_orders(cluster, 1);
  EXPECT_TRUE(std::ranges::any_of(orders, [](const RowOrder& order) {
    return order.nodes == std::vector{0, 2, 1};
  }));
}

}  // namespace
}  // namespace penstock::partition
