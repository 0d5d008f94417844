#pragma once

#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// The devices of a cluster, grouped into at most four kinds by speed. If there are more speeds,
/// those between the largest ratios form one kind, which has the fastest of them.
struct DeviceKinds {
  explicit DeviceKinds(const Cluster& cluster);

  std::vector<int> of;         // [device]: its kind
  std::vector<double> speeds;  // [kind]: falling
  std::vector<int> devices;    // [kind]: number of devices
};

/// A change of a node's state by a stage. A state encodes which of the node's devices a run of
/// stages has used. State 0 is none.
struct NodeMove {
  int from = 0, to = 0;
};

/// The best stage of one replica on a kind of device in a node. Either all replicas are in the
/// node, or the others are elsewhere.
struct NodeStage {
  int kind = 0;
  double per_work = 1;               // seconds per second of work on a device of speed 1
  LinkCost reduction = {};           // of gradients, per micro-batch
  double memory = 0;                 // bytes
  int begun = 0;                     // state after a run's first stage; 0: the run ends
  std::vector<NodeMove> moves = {};  // from the other states with enough free devices
};

/// All nodes with equal numbers of devices of each kind, with the best links and memory of any of
/// them.
struct NodeType {
  LinkCost within = {}, between = {};  // cost of a boundary inside a node, and to another one
  std::vector<NodeStage> stages = {};
  int states = 1;
};

/// Returns the types of the cluster's nodes, as one of `replicas` replicas meets them. If a type
/// has too many states, its runs have one stage each, and all its boundaries have the best link.
std::vector<NodeType> node_types(const PlacementProblem& problem, const DeviceKinds& kinds,
                                 int replicas);

}  // namespace penstock::partition
