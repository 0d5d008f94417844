#pragma once

#include <vector>

#include "partition/cluster/cluster.h"

namespace penstock::partition {

/// An order in which stages take the devices of a row, each as many as there are replicas.
struct RowOrder {
  std::vector<int> nodes;
  /// False: node by node, so that a stage's replicas stand together. True: each replica has a node
  /// of its own, for as many stages in a row as that has devices.
  bool replicas_apart = false;
};

/// Nodes in the cluster's order; where their links differ, also in chains of the nearest. Replicas
/// together, and apart where there are enough nodes.
std::vector<RowOrder> row_orders(const Cluster& cluster, int replicas);

/// The devices of which `members` is true. Apart, nodes that fill no group are left out, and in
/// larger nodes of a group what the smallest does not have.
std::vector<int> devices_in(const RowOrder& order, const Cluster& cluster,
                            const std::vector<bool>& members, int replicas);

}  // namespace penstock::partition
