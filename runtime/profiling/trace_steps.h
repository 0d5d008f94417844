#pragma once

#include <map>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "partition/cluster/cluster.h"
#include "partition/cost/device_profile.h"
#include "partition/plan/plan.h"
#include "partition/simulate/messages.h"
#include "partition/simulate/simulate.h"
#include "runtime/devices/device_links.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

struct TraceOptions {
  int steps = 8;
  /// Costs measured beforehand, in another process: the plan and a prediction beforehand follow
  /// from them. Nothing: steps are only predicted as calibrated in place.
  std::optional<partition::DeviceProfile> profile = {};
  /// Links measured beforehand, rank i on the i-th device. Nothing: measured before the steps.
  std::optional<partition::Cluster> links = {};
};

/// What a prediction follows from.
enum class Prediction {
  beforehand,  // TraceOptions::profile alone
  calibrated,  // in place: costs measured on the same ranks before the steps, and after every three
};

/// "predicted beforehand", "calibrated in place"
[[nodiscard]] const char* name_of(Prediction prediction);

/// A step as one of them predicts it.
struct PredictedStep {
  double seconds = 0;
  std::vector<std::vector<partition::TimedAction>> ranks = {};  // [rank], from 0
  std::vector<partition::TimedMessage> messages = {};           // between ranks, from 0
};

/// A step as it was and as it was predicted.
struct TracedStep {
  double begin = 0;       // seconds of steps before it
  double measured_s = 0;  // from the end of the step before to its own, on the last rank
  std::vector<std::vector<WatchedAction>> measured = {};  // [rank], on that clock
  std::map<Prediction, PredictedStep> predicted = {};
};

struct Trace {
  partition::Plan plan;
  DeviceLinks links = DeviceLinks::host;  // which are used (job_links.h)
  bool links_beforehand = false;
  double overlap = 1;  // as measured between the ranks
  std::vector<TracedStep> steps;
  /// Of each rank, in bytes: what the plan says, of the replica that needs most, and what the steps
  /// took (0 where nobody counts).
  std::vector<double> planned_bytes = {}, allocated_bytes = {};

  /// Those that there are: beforehand, where costs were given, then calibrated.
  std::vector<Prediction> predictions() const;
  /// Medians over the steps; the error is that of predicted / measured − 1.
  double measured_s() const, predicted_s(Prediction by) const, error(Prediction by) const;
};

/// Runs steps of the recipe from its beginning, over the ranks of `world`, of which there must be
/// as many as stages × replicas, each time behind two others that warm up, and predicts the same
/// steps: messages by latency, bandwidth and overlap between the ranks, and offloads by what the
/// host is reached at (PlanLinks). Adding gradients over
/// replicas is taken to cost nothing. Writes nothing. All ranks call it; the trace is whole on rank
/// 0. Errors as train(); ConfigError where there are fewer devices in `links` than ranks.
Trace trace_steps(const configs::Config& recipe, comm::Communicator& world,
                  const TraceOptions& options);

}  // namespace penstock::runtime
