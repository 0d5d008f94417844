#pragma once

#include <functional>
#include <vector>

#include "partition/cost/step_costs.h"
#include "partition/model/layer_runs.h"
#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// A way to run a replica's step: its chunks, and the devices and links of its pipeline's ranks.
struct StepLayout {
  std::vector<int> begin;           // first layer of each chunk, then the number of layers
  Schedule schedule;                // of as many micro-batches as the step has, and as many chunks
  std::vector<double> speeds = {};  // of each rank's device; empty: 1
  /// Of each rank: what it does once a step, as stepping the optimizer; empty: 0.
  std::vector<double> step_seconds = {};
  /// Of each chunk: adding its gradients over the replicas; empty: 0.
  std::vector<double> reduce_seconds = {};
  /// Between two ranks with neighbouring chunks. Empty: messages take no time.
  std::function<LinkRates(int from, int to)> link = {};
  double overlap = 1;  // as Network::overlap
  /// [chunk][micro-batch]: an offload or a reload of what it keeps; empty: 0.
  std::vector<std::vector<double>> copy_seconds = {};
  ChosenLayers recomputed = {};  // whose activations are recomputed, before their backward
};

/// What a step takes, by simulate(). Pure planning: it only adds up.
class StepEstimate {
 public:
  /// std::invalid_argument where the sizes of costs and layout do not fit each other.
  StepEstimate(const StepCosts& costs, StepLayout layout);
  StepEstimate(const StepEstimate&) = delete;
  StepEstimate& operator=(const StepEstimate&) = delete;

  /// [chunk][micro-batch]: seconds of each pass on the rank that holds the chunk.
  const std::vector<std::vector<ChunkTimes>>& times() const { return times_; }
  const Schedule& schedule() const { return layout_.schedule; }
  /// For simulate(), as long as this lives.
  const Durations& durations() const { return durations_; }

  Simulation simulation(Barrier barrier = Barrier::before_step) const;
  /// Seconds of one step where many follow each other: step_period().
  double period(Barrier barrier = Barrier::before_step) const;

 private:
  void check(const StepCosts& costs) const;
  void add_times(const StepCosts& costs);
  void add_network(const StepCosts& costs);
  double speed_of(int chunk) const;

  StepLayout layout_;
  std::vector<std::vector<ChunkTimes>> times_;
  std::vector<std::vector<double>> edge_bytes_;  // [chunk][micro-batch]: to the next chunk
  Network network_;
  Durations durations_;
};

}  // namespace penstock::partition
