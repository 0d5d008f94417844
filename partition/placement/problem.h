#pragma once

#include <vector>

#include "partition/cluster/cluster.h"
#include "partition/cut/best_cut.h"

namespace penstock::partition {

enum class Objective { bottleneck, step };

/// A layer sequence to be cut into stages, each held by the same number of devices.
struct PlacementProblem {
  SequenceLoad sequence;
  Cluster cluster;
  Objective objective = Objective::step;
  int micro_batches = 1;  // of a step, over all replicas
};

struct Grid {
  int stages = 1, replicas = 1;
  int slots() const { return stages * replicas; }
  bool operator==(const Grid&) const = default;
};

/// [stage][replica]: places in Cluster::devices, each at most once.
using Placement = std::vector<std::vector<int>>;

/// Micro-batches of a step that the busiest replica runs.
int micro_batches_of(const PlacementProblem& problem, const Grid& grid);

Goal goal_of(const PlacementProblem& problem, const Grid& grid);

/// What no bottleneck of pipelines with so many replicas is below: the largest layer on the fastest
/// device, or all work on all devices.
double least_bottleneck(const PlacementProblem& problem, int replicas);

/// Micro-batches in flight on a stage under 1F1B.
int in_flight(const PlacementProblem& problem, const Grid& grid, int stage);

/// What one stage costs on `devices`, a place for each replica; `before` and `behind` are the
/// neighbouring stages' (empty at the layer sequence's ends). Gradients are added in a ring of the
/// devices in the cluster's order, 2(R − 1) messages of 1/R of them (Patarasuk and Yuan 2009),
/// which the step's micro-batches share evenly.
StageCost stage_cost(const PlacementProblem& problem, const Grid& grid, int stage,
                     const std::vector<int>& before, const std::vector<int>& devices,
                     const std::vector<int>& behind);

/// The same of all stages.
std::vector<StageCost> stage_costs(const PlacementProblem& problem, const Placement& placement);

/// The most latency and the least bandwidth of the links that a ring of the devices uses, in the
/// cluster's order.
LinkRates slowest_of_ring(const Cluster& cluster, std::vector<int> devices);

/// A ring over R devices at this link, spread over `micro_batches`.
LinkCost ring(const LinkRates& slowest, int replicas, int micro_batches);

/// What crosses a boundary between two devices: activations go from one to the other, and where
/// boundaries are crossed twice their gradients take the link back.
LinkCost crossing(const PlacementProblem& problem, int from, int to);

/// The least latency and the least time for a byte of two crossings.
LinkCost best_of(const LinkCost& one, const LinkCost& other);

}  // namespace penstock::partition
