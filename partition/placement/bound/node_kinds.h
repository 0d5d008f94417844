#pragma once

#include <vector>

#include "partition/placement/problem.h"

namespace penstock::partition {

/// Devices by their speed. Of more than four speeds those between the largest steps are one kind,
/// at the fastest of them.
struct DeviceKinds {
  explicit DeviceKinds(const Cluster& cluster);

  std::vector<int> of;         // each device
  std::vector<double> speeds;  // of each kind, the fastest first
  std::vector<int> devices;    // their number, of each kind
};

/// How a stage changes the state of a node, which says how many of its devices a run of stages has
/// used. In state 0 it has used none.
struct NodeMove {
  int from = 0, to = 0;
};

/// A stage of one replica in a node, at its best: with the other replicas in the same node, or not.
struct NodeStage {
  int kind = 0;
  double per_work = 1;               // seconds for a second's work on a device of speed 1
  LinkCost reduction = {};           // of gradients, for each micro-batch
  double memory = 0;                 // bytes
  int begun = 0;                     // the state behind a run's first stage; 0: no run goes on
  std::vector<NodeMove> moves = {};  // from other states that leave it a device
};

/// Nodes that have as many devices of each kind, at the best that any of them has.
struct NodeType {
  LinkCost within = {}, between = {};  // crossing a boundary inside a node, and to another one
  std::vector<NodeStage> stages = {};
  int states = 1;
};

/// What a replica of a pipeline with so many of them meets in the cluster's nodes. Of a type with
/// too many states no run goes on, but all boundaries have the best link.
std::vector<NodeType> node_types(const PlacementProblem& problem, const DeviceKinds& kinds,
                                 int replicas);

}  // namespace penstock::partition
