#pragma once

#include <vector>

#include "partition/planner/cluster/cluster.h"

namespace penstock::partition {

/// An order in which stages take the devices of a row, `replicas` at a time.
struct RowOrder {
  std::vector<int> nodes;
  /// False: node by node, so that a stage's replicas share a node. True: each replica has a node of
  /// its own, for as many consecutive stages as the node has devices.
  bool replicas_apart = false;
};

/// Returns orders to try: nodes in the cluster's order and, if their links differ, in chains of
/// nearest neighbours. Each comes with replicas together and, if there are enough nodes, apart.
std::vector<RowOrder> row_orders(const Cluster& cluster, int replicas);

/// Returns the devices with `members` true, in this order. If replicas are apart, nodes form groups
/// of `replicas`. Nodes that fill no group are left out, and each node of a group gives as many
/// devices as the smallest has.
std::vector<int> devices_in(const RowOrder& order, const Cluster& cluster,
                            const std::vector<bool>& members, int replicas);

}  // namespace penstock::partition
