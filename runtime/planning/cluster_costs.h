#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/cost/rated_device.h"

namespace penstock::runtime {

/// Returns the kinds of device whose rates are known, in the order in which the cluster names them.
/// Costs are computed for the first.
[[nodiscard]] std::vector<partition::RatedDevice> rated_devices(const partition::Cluster& cluster);

/// Returns the backend of all kinds: "cpu" or "cuda". Throws ConfigError if they differ.
[[nodiscard]] std::string backend_of(const std::vector<partition::RatedDevice>& devices);

/// Returns the seconds that AdamW takes per parameter. Memory bandwidth bounds it.
[[nodiscard]] double parameter_seconds(const partition::DeviceRates& rates);

/// Inputs of computed costs. `recomputing` is null if no layer recomputes within itself.
struct ComputedCosts {
  const partition::LayerSequence* sequence = nullptr;
  const partition::LayerSequence* recomputing = nullptr;
  layers::BackendSizes sizes = {};

  void set(partition::PlanningProblem& problem, const partition::DeviceRates& rates) const;
  partition::Assumption under(std::string what, const partition::DeviceRates& rates) const;
};

/// Returns the rates that a kind of device is assumed to have.
using AssumedRates = std::function<partition::DeviceRates(const partition::RatedDevice&)>;

/// Compares kinds of device by the time they take for some micro-batches.
struct RatedKinds {
  std::vector<partition::RatedDevice> rated;
  std::vector<partition::MicroBatchLengths> micro_batches;

  /// Returns the speed of each of the cluster's devices relative to the first of `rated`: the ratio
  /// of the times of all layers. A device without rates keeps its speed.
  std::vector<double> speeds(const partition::Cluster& cluster, const ComputedCosts& costs,
                             const AssumedRates& rates) const;
};

/// A predicted step and the uncertainty of its computed costs.
struct BelievedStep {
  /// Seconds of the step if all errors of all kinds of device have the same sign, each as large as
  /// the kind's file states.
  double fastest_s = 0, slowest_s = 0;
  partition::Sensitivity sensitivity;  // per class of cost, a fifth more or less
};

[[nodiscard]] BelievedStep believed_step(const partition::PlanningProblem& problem,
                                         const partition::BestPlan& best_plan,
                                         const ComputedCosts& costs, const RatedKinds& kinds);

}  // namespace penstock::runtime
