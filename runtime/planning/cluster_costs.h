#pragma once

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

/// What costs are computed from. `remaking` is null where no layer remakes.
struct ComputedCosts {
  const partition::LayerSequence* sequence = nullptr;
  const partition::LayerSequence* remaking = nullptr;
  layers::BackendSizes sizes = {};

  void set(partition::PlanningProblem& problem, const partition::DeviceRates& rates) const;
  partition::Assumption under(std::string what, const partition::DeviceRates& rates) const;
};

/// Speeds of the cluster's devices beside the first of `rated`: what the layers take of
/// `micro_batches` there, by what they take on each. A kind without rates keeps its speed.
void set_speeds(partition::Cluster& cluster, const std::vector<partition::RatedDevice>& rated,
                const ComputedCosts& costs,
                const std::vector<partition::MicroBatchLengths>& micro_batches);

/// A step, as far as computed costs may be believed.
struct BelievedStep {
  /// Where all errors of the device fall one way, and those of other kinds make them as much faster
  /// or slower.
  double fastest_s = 0, slowest_s = 0;
  partition::Sensitivity sensitivity;  // to a fifth of each class of cost, more or less
};

[[nodiscard]] BelievedStep believed_step(const partition::PlanningProblem& problem,
                                         const partition::Decision& decision,
                                         const ComputedCosts& costs,
                                         const partition::RatedDevice& device);

}  // namespace penstock::runtime
