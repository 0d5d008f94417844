#pragma once

#include <map>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/simulate.h"
#include "runtime/devices/device.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

struct TraceOptions {
  int steps = 8;
  /// Costs that were measured beforehand, in another process. They determine the plan and the
  /// prediction "beforehand". Without them, steps are predicted only by costs calibrated in place.
  std::optional<partition::DeviceProfile> profile = {};
  /// Links that were measured beforehand; rank i is on the i-th device. Without them, links are
  /// measured before the steps.
  std::optional<partition::Cluster> links = {};
};

/// The costs on which a prediction is based.
enum class Prediction {
  beforehand,  // TraceOptions::profile alone
  calibrated,  // measured on the same ranks before the steps and after every three
};

/// Returns "predicted beforehand" or "calibrated in place".
[[nodiscard]] const char* name_of(Prediction prediction);

/// One prediction of a step.
struct PredictedStep {
  double seconds = 0;
  std::vector<std::vector<partition::TimedAction>> ranks = {};  // [rank]; times from 0
  std::vector<partition::TimedMessage> messages = {};           // between ranks; times from 0
};

/// A step as measured and as predicted.
struct TracedStep {
  double begin = 0;       // total seconds of the steps before it
  double measured_s = 0;  // from the end of the step before to its own end, on the last rank
  std::vector<std::vector<WatchedAction>> measured = {};  // [rank], on the clock of `begin`
  std::map<Prediction, PredictedStep> predicted = {};
};

struct Trace {
  partition::Plan plan;
  DeviceLinks links = DeviceLinks::host;  // kind of link in use (job_links.h)
  bool links_beforehand = false;
  double overlap = 1;  // measured between the ranks
  std::vector<TracedStep> steps;
  /// Bytes per rank: those of the plan, on the replica that needs most, and those that the steps
  /// allocated (0 if they are not counted).
  std::vector<double> planned_bytes = {}, allocated_bytes = {};

  /// Returns the predictions that exist: beforehand, if costs were given, then calibrated.
  std::vector<Prediction> predictions() const;
  /// Medians over the steps. The error is predicted / measured − 1.
  double measured_s() const, predicted_s(Prediction by) const, error(Prediction by) const;
};

/// Runs steps of the recipe from its beginning on the ranks of `world`, which must be stages ×
/// replicas many, and predicts the same steps. Each turn of steps follows two steps of warm-up.
/// Messages are predicted by latency, bandwidth and overlap between the ranks, and offloads by the
/// bandwidth to the host (PlanLinks). Reducing gradients over replicas is assumed to cost nothing.
/// Writes nothing. All ranks call this together; the trace is complete on rank 0. Throws like
/// train(), and ConfigError if `links` has fewer devices than there are ranks.
Trace trace_steps(const configs::Config& recipe, comm::Communicator& world,
                  const TraceOptions& options);

}  // namespace penstock::runtime
