#pragma once

#include <string>
#include <utility>
#include <vector>

#include "partition/cluster/cluster.h"
#include "partition/report/memory_table.h"
#include "partition/simulate/memory.h"
#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// A stage as people see it.
struct StageView {
  std::vector<std::string> layers = {};      // of all its chunks: "conv1 to rnn2 (5)"
  std::vector<int> first = {}, last = {};    // of each chunk: places of its first and last layer
  std::vector<std::string> recomputed = {};  // whose activations are recomputed, as `layers`
  std::vector<int> devices = {};             // places in the cluster, of each replica
  MemoryByKind memory = {};
  double limit = 0;    // bytes that it may take of its smallest device; infinite: no limit
  double seconds = 0;  // that its slowest replica computes in a step
  double idle = 0;     // share of a step

  double bytes() const;
  /// Share of the limit; 0: there is none.
  double fullness() const;
};

/// One replica's pipeline in one step.
struct ReplicaView {
  Simulation step;
  std::vector<std::vector<MemoryPoint>> memory;  // of each stage: bytes in use
};

/// What a link carries in a step.
struct TrafficView {
  int from = 0, to = 0;                // devices
  double pipeline = 0, reduction = 0;  // bytes
  double seconds = 0;                  // that it is busy
};

struct AlternativeView {
  std::string what;
  double step_seconds = 0;  // 0: unknown
  /// "≥ ": it takes at least so long; "≈ ": by the closed form alone, of a cut that does not fit.
  std::string about = {};
  double speed = 0;      // audio seconds a second; 0: unknown
  std::string why = {};  // it lost; empty: it is the plan
};

/// A plan and what is estimated of it, for terminal and report.
struct PlanView {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // name, value
  Cluster cluster;
  Schedule schedule;  // of the first replica
  std::vector<StageView> stages;
  std::vector<ReplicaView> replicas;  // as many as are worth rendering
  std::vector<TrafficView> traffic;   // the busiest first
  std::vector<AlternativeView> alternatives;
  int left_out = 0;  // alternatives besides, of which none can be better
  double step_seconds = 0;
  int steps = 1;           // sampled, of which step_seconds is the mean and the first is shown
  double speed = 0;        // audio seconds trained in a second; 0: unknown
  std::string binds = {};  // what keeps it from being faster
  std::vector<std::string> advice = {};  // sentences on what single changes would bring
  std::string command = {};              // that trains the plan; empty: it is in no file
};

/// Traffic of a pipeline over its links and of rings over replicas. bytes[chunk][micro-batch] of
/// each replica cross behind that chunk, and so do as many back; gradients[chunk] are bytes that
/// replicas add. [stage][replica] are devices.
struct TrafficOf {
  std::vector<std::vector<int>> devices;
  std::vector<int> chunk_rank;
  std::vector<std::vector<double>> bytes = {};  // [replica][chunk]: of all micro-batches
  double messages = 0;                          // that each of those is in
  std::vector<double> gradients = {};           // [chunk]
};
/// What is always there added to what micro-batches hold, from the step's beginning on.
void add_always(std::vector<MemoryPoint>& memory, double bytes);

/// What comes of the plan: "It trains 1,060 s of audio a second; stage 0 is the fullest, with 5.15
/// GiB of 15.2 GiB. What binds: the computation of stage 0, ….".
[[nodiscard]] std::string headline_of(const PlanView& view);

std::vector<TrafficView> traffic_of(const Cluster& cluster, const TrafficOf& what);

}  // namespace penstock::partition
