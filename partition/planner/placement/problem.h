#pragma once

#include <vector>

#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cut/best_cut.h"

namespace penstock::partition {

/// Quantity to minimise: the largest load of a stage, or the time of a step.
enum class Objective { bottleneck, step };

/// A layer sequence to be cut into stages, and a cluster to place them on. Each stage is replicated
/// on the same number of devices.
struct PlacementProblem {
  SequenceLoad sequence;
  Cluster cluster;
  Objective objective = Objective::step;
  int micro_batches = 1;  // per step, over all replicas
};

/// The numbers of stages and of replicas. A slot is one (stage, replica).
struct Grid {
  int stages = 1, replicas = 1;
  int slots() const { return stages * replicas; }
  bool operator==(const Grid&) const = default;
};

/// [stage][replica]: indices into Cluster::devices, each at most once.
using Placement = std::vector<std::vector<int>>;

/// Returns the micro-batches per step of the busiest replica.
int micro_batches_of(const PlacementProblem& problem, const Grid& grid);

/// Returns the weights of a step, {1, m − 1} for m micro-batches per replica, or of the bottleneck.
Goal goal_of(const PlacementProblem& problem, const Grid& grid);

/// Returns a lower bound on the bottleneck of any pipeline with so many replicas: the longest layer
/// on the fastest device, or all work spread over all devices.
double min_bottleneck(const PlacementProblem& problem, int replicas);

/// Returns the most micro-batches in flight on a stage under 1F1B.
int in_flight(const PlacementProblem& problem, const Grid& grid, int stage);

/// Returns the cost of one stage on `devices`, which has one device for each replica. `before` and
/// `after` are the devices of the previous and the next stage; empty at the ends of the sequence.
/// Gradients are added by a ring all-reduce over the devices in the cluster's order. It takes
/// 2(R − 1) messages of 1/R of the gradients (Patarasuk and Yuan 2009), and its time is divided
/// evenly among the step's micro-batches.
StageCost stage_cost(const PlacementProblem& problem, const Grid& grid, int stage,
                     const std::vector<int>& before, const std::vector<int>& devices,
                     const std::vector<int>& after);

/// Returns the costs of all stages.
std::vector<StageCost> stage_costs(const PlacementProblem& problem, const Placement& placement);

/// Returns the maximum latency and the minimum bandwidth of the links of a ring over the devices,
/// in the cluster's order.
LinkRates slowest_of_ring(const Cluster& cluster, std::vector<int> devices);

/// Returns the cost per micro-batch of a ring all-reduce over `replicas` devices with this slowest
/// link, in a step of `micro_batches`. The unit is a byte.
LinkCost ring(const LinkRates& slowest, int replicas, int micro_batches);

/// Returns the cost of a boundary between two devices. Activations go from one to the other. If the
/// sequence counts both passes, their gradients take the link back.
LinkCost crossing(const PlacementProblem& problem, int from, int to);

/// Returns the smaller latency and the smaller time per unit of two costs.
LinkCost best_of(const LinkCost& one, const LinkCost& other);

}  // namespace penstock::partition
