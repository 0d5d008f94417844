#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partition/choose/decide.h"
#include "partition/choose/sensitivity.h"
#include "partition/cost/rated_device.h"

namespace penstock::runtime {

/// The kinds of device of a cluster whose rates are known, in the order in which its devices name
/// them. Of the first one costs are computed.
[[nodiscard]] std::vector<partition::RatedDevice> rated_devices(const partition::Cluster& cluster);

/// The backend of all of them: "cpu" or "cuda". ConfigError where they differ.
[[nodiscard]] std::string backend_of(const std::vector<partition::RatedDevice>& devices);

/// What AdamW takes for a parameter, in seconds: it is bound by memory.
[[nodiscard]] double parameter_seconds(const partition::DeviceRates& rates);

/// What costs are computed from. `remaking` is null where no layer remakes.
struct ComputedCosts {
  const partition::LayerSequence* sequence = nullptr;
  const partition::LayerSequence* remaking = nullptr;
  layers::BackendSizes sizes = {};

  void set(partition::PlanningProblem& problem, const partition::DeviceRates& rates) const;
  partition::Assumption under(std::string what, const partition::DeviceRates& rates) const;
};

/// The rates that a kind of device is assumed to have.
using AssumedRates = std::function<partition::DeviceRates(const partition::RatedDevice&)>;

/// Kinds of device by what they take for some micro-batches.
struct RatedKinds {
  std::vector<partition::RatedDevice> rated;
  std::vector<partition::MicroBatchLengths> micro_batches;

  /// Of each of the cluster's devices beside the first of `rated`: what the layers take there, by
  /// what they take on each. A kind without rates keeps its speed.
  std::vector<double> speeds(const partition::Cluster& cluster, const ComputedCosts& costs,
                             const AssumedRates& rates) const;
};

/// A step, as far as computed costs may be believed.
struct BelievedStep {
  /// Where all errors of every kind of device fall one way, each kind's by as much as its file
  /// says.
  double fastest_s = 0, slowest_s = 0;
  partition::Sensitivity sensitivity;  // to a fifth of each class of cost, more or less
};

[[nodiscard]] BelievedStep believed_step(const partition::PlanningProblem& problem,
                                         const partition::Decision& decision,
                                         const ComputedCosts& costs, const RatedKinds& kinds);

}  // namespace penstock::runtime
