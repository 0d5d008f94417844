#pragma once

#include <string>
#include <utility>
#include <vector>

#include "partition/planner/cluster/cluster.h"
#include "partition/planner/report/table.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// A stage for display.
struct StageView {
  std::vector<std::string> layers = {};      // one per chunk, such as "conv1 to rnn2 (5)"
  std::vector<int> first = {}, last = {};    // index of each chunk's first and last layer
  std::vector<std::string> recomputed = {};  // recomputed layers, as in `layers`
  std::vector<int> devices = {};             // index in the cluster, one per replica
  MemoryByKind memory = {};
  /// Bytes that it may use of its smallest device. Infinity means no limit.
  double limit = 0;
  double seconds = 0;  // computing time of its slowest replica in a step
  double idle = 0;     // share of a step

  double bytes() const;
  /// Returns the share of the limit in use, or 0 if there is no limit.
  double fullness() const;
};

/// One replica's pipeline in one step.
struct ReplicaView {
  Simulation step;
  std::vector<std::vector<MemoryPoint>> memory;  // bytes in use on each stage
};

/// The traffic of a link in a step.
struct TrafficView {
  int from = 0, to = 0;                // devices
  double pipeline = 0, reduction = 0;  // bytes
  double seconds = 0;                  // time for which it is busy
};

/// A candidate that was compared with the plan.
struct CandidateView {
  std::string what;
  double step_seconds = 0;  // 0: unknown
  /// "≥ " if step_seconds is a lower bound, "≈ " if it is the closed form of a cut that does not
  /// fit.
  std::string about = {};
  double speed = 0;      // seconds of audio per second; 0: unknown
  std::string why = {};  // why it lost; empty: it is the plan
};

/// A PlanView is a plan with its estimates, for the terminal and for the report.
struct PlanView {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // (name, value)
  Cluster cluster;
  Schedule schedule;  // the first replica's schedule
  std::vector<StageView> stages;
  std::vector<ReplicaView> replicas;  // as many as are worth drawing
  std::vector<TrafficView> traffic;   // the busiest first
  std::vector<CandidateView> candidates;
  int left_out = 0;  // candidates without a row; none of them can be better
  double step_seconds = 0;
  /// Number of sampled steps. step_seconds is their mean, and the first one is shown.
  int steps = 1;
  double speed = 0;                      // seconds of audio trained per second; 0: unknown
  std::string binds = {};                // what keeps the plan from being faster
  std::vector<std::string> advice = {};  // sentences on the effect of single changes
  std::string command = {};  // command that trains the plan; empty: the plan is in no file
};

/// The traffic of pipelines over links, and of gradient rings over replicas. For each replica,
/// bytes[replica][chunk] pass from each chunk to the next, and as many come back. The replicas
/// reduce gradients[chunk] bytes.
struct TrafficOf {
  /// [stage][replica]: the device.
  std::vector<std::vector<int>> devices;
  std::vector<int> chunk_rank;
  std::vector<std::vector<double>> bytes = {};  // [replica][chunk]: sum over all micro-batches
  double messages = 0;                 // number of messages that carry these bytes, one way
  std::vector<double> gradients = {};  // [chunk]
};
/// Adds the bytes that are always allocated to the memory of micro-batches, from the beginning of
/// the step.
void add_always(std::vector<MemoryPoint>& memory, double bytes);

/// Returns a summary: "It trains 1,060 s of audio a second; stage 0 is the fullest, with 5.15 GiB
/// of 15.2 GiB. What binds: the computation of stage 0, ….".
[[nodiscard]] std::string headline_of(const PlanView& view);

/// Returns the traffic of each link that is used, the busiest first.
std::vector<TrafficView> traffic_of(const Cluster& cluster, const TrafficOf& what);

/// Returns true if a report with so many replicas of so many passes is readable and not too large.
bool has_room_for(int replicas, int passes);

/// Returns, for example, "conv1" or "conv1 to rnn2 (5)". Long names are shortened.
std::string layer_names(const std::string& first, const std::string& last, int count);

}  // namespace penstock::partition
