#pragma once

#include <functional>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/cost/step_costs.h"
#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// A StepLayout is how a replica runs its step: its chunks, and the devices and links of its ranks.
struct StepLayout {
  std::vector<int> begin;           // first layer of each chunk, then the number of layers
  Schedule schedule;                // has as many micro-batches and chunks as the step
  std::vector<double> speeds = {};  // speed of each rank's device; empty: 1
  /// Per rank: seconds of its work once per step, such as the optimizer; empty: 0.
  std::vector<double> step_seconds = {};
  /// Per chunk: seconds to reduce its gradients over the replicas; empty: 0.
  std::vector<double> reduce_seconds = {};
  /// Returns the link between two ranks with neighbouring chunks. Empty means that messages take no
  /// time.
  std::function<LinkRates(int from, int to)> link = {};
  double overlap = 1;  // see Network::overlap
  /// [chunk][micro-batch]: seconds of an offload or a reload; empty: 0.
  std::vector<std::vector<double>> copy_seconds = {};
  ChosenLayers recomputed = {};  // layers whose activations are recomputed before their backward
};

/// StepEstimate predicts a step's time with simulate(), from costs and layout alone.
class StepEstimate {
 public:
  /// Throws std::invalid_argument if the sizes of costs and layout do not match.
  StepEstimate(const StepCosts& costs, StepLayout layout);
  StepEstimate(const StepEstimate&) = delete;
  StepEstimate& operator=(const StepEstimate&) = delete;

  /// [chunk][micro-batch]: seconds of each pass on the rank that holds the chunk.
  const std::vector<std::vector<ChunkTimes>>& times() const { return times_; }
  const Schedule& schedule() const { return layout_.schedule; }
  /// The durations for simulate(). They are valid for the lifetime of this object.
  const Durations& durations() const { return durations_; }

  Simulation simulation(Barrier barrier = Barrier::before_step) const;
  /// Returns the seconds of one step in a long sequence of steps: step_period().
  double period(Barrier barrier = Barrier::before_step) const;

 private:
  void check(const StepCosts& costs) const;
  void add_times(const StepCosts& costs);
  void add_network(const StepCosts& costs);
  double speed_of(int chunk) const;

  StepLayout layout_;
  std::vector<std::vector<ChunkTimes>> times_;
  std::vector<std::vector<double>> edge_bytes_;  // [chunk][micro-batch]: message to the next chunk
  Network network_;
  Durations durations_;
};

/// Sums the layers' costs for each chunk. `begin` holds the first layer of each chunk, then the
/// number of layers. The recomputation of `recomputed` layers counts to backward_input.
std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed = {});

/// The bytes that chunks copy between their devices and the host, and the speed of the copies.
struct ChunkCopies {
  std::vector<double> bytes;      // per chunk: bytes that its largest micro-batch keeps
  std::vector<double> bandwidth;  // per chunk's device: bytes per second, each way
};

/// Returns the seconds of an offload or a reload, as [chunk][micro-batch]. A step's largest
/// micro-batch copies all of the chunk's bytes; any other copies in proportion to the bytes that
/// leave the chunk. `begin` holds the first layer of each chunk, then the number of layers.
[[nodiscard]] std::vector<std::vector<double>> copy_seconds(const StepCosts& costs,
                                                            const std::vector<int>& begin,
                                                            const ChunkCopies& copies);

}  // namespace penstock::partition
