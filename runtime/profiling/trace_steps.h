#pragma once

#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "partition/cost/device_profile.h"
#include "partition/plan/plan.h"
#include "partition/simulate/messages.h"
#include "partition/simulate/simulate.h"
#include "runtime/devices/device_links.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

struct TraceOptions {
  int steps = 8;
  /// What the prediction follows from. Nothing: measured on the same ranks before the steps and
  /// after every three of them.
  std::optional<partition::DeviceProfile> profile = {};
};

/// A step as it was and as it was predicted.
struct TracedStep {
  double begin = 0;       // seconds of steps before it
  double measured_s = 0;  // from the end of the step before to its own, on the last rank
  double predicted_s = 0;
  std::vector<std::vector<WatchedAction>> measured = {};            // [rank], on that clock
  std::vector<std::vector<partition::TimedAction>> predicted = {};  // [rank], from 0
  std::vector<partition::TimedMessage> messages = {};               // predicted, from 0
};

struct Trace {
  partition::Plan plan;
  DeviceLinks links = DeviceLinks::host;  // which were measured (job_links.h)
  double overlap = 1;                     // as measured between the ranks
  std::vector<TracedStep> steps;
  /// Of each rank, in bytes: what the plan says, of the replica that needs most, and what the steps
  /// took (0 where nobody counts).
  std::vector<double> planned_bytes = {}, allocated_bytes = {};

  /// Medians over the steps; the error is that of predicted / measured − 1.
  double measured_s() const, predicted_s() const, error() const;
};

/// Runs steps of the recipe from its beginning, over the ranks of `world`, of which there must be
/// as many as stages × replicas, each time behind two others that warm up, and predicts the same
/// steps: costs by the profile, messages by latency, bandwidth and overlap between the ranks.
/// Adding gradients over replicas is taken to cost nothing. Writes nothing. All ranks call it; the
/// trace is whole on rank 0. Errors as train().
Trace trace_steps(const configs::Config& recipe, comm::Communicator& world,
                  const TraceOptions& options);

}  // namespace penstock::runtime
