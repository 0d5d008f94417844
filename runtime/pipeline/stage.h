#pragma once

#include <deque>
#include <map>

#include "partition/model/layer_sequence.h"
#include "partition/schedule/run_schedule.h"
#include "runtime/devices/device_links.h"
#include "runtime/pipeline/executor.h"
#include "runtime/pipeline/local_layers.h"

namespace penstock::runtime {

/// Which part of the model a rank holds: the chunks that the schedule gives it.
struct StageOptions {
  int stage = 0;
  partition::RunSchedule schedule;
  /// First layer of each of the schedule's chunks, then the layer sequence's number of layers.
  std::vector<int> cut;
  partition::ChosenLayers recompute = {};  // of the layer sequence's layers: ChunkRole::recomputes
  StoreOptions store;
  std::uint64_t seed = 0;
  layers::BackendSizes sizes;
  DeviceLinks links = DeviceLinks::host;  // on a device with memory of its own
};

/// A rank's share of the model, ready to compute: parameters, buffers, and the executor that runs
/// them within the pipeline. Its layers are those of its chunks, in the order of the layer
/// sequence.
class Stage {
 public:
  /// `pipeline` has one rank for each stage, in order. `sequence` must outlive the stage. Error if
  /// the cut has other chunks than the schedule.
  Stage(layers::Backend& backend, layers::Stream& stream, comm::Communicator& pipeline,
        const partition::LayerSequence& sequence, const StageOptions& options);

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  /// Whether it holds the layer sequence's first layers, which read features.
  bool first() const { return chunk_ranks_.front() == options_.stage; }
  /// Whether it holds the layer sequence's last layers, which have the loss.
  bool last() const { return chunk_ranks_.back() == options_.stage; }
  /// How many layers it holds.
  std::size_t layers() const { return local_.layers.size(); }
  /// True where a layer of this stage reads labels.
  bool needs_targets() const;

  /// Forward and backward of every micro-batch; gradients are added to the lanes' arenas, for what
  /// the stream is asked for next. Before the next call, complete() what it returns.
  StepSums train(const StepWork& step, const ExecutorCallbacks& callbacks);
  /// On a device, sends it the features of the step that is trained next, of its first micro-batch,
  /// where this stage reads any. Nothing else may be read before that step.
  void read_ahead(const StepWork& next, const ReadFeatures& read_features);
  /// Waits for what is still being sent and computed: then losses and state's sums are there.
  void complete(StepSums& sums);
  /// Forward only; nothing of the model changes. Micro-batches go through the stages some at a
  /// time, so that memory doesn't grow with their number. `read_features` counts them anew each
  /// time.
  StepSums evaluate(const StepWork& step, const ExecutorCallbacks& callbacks);

  /// One row of what forward has left of these micro-batches, by their numbers in
  /// StepWork::micro_batches, joined in this order. complete() comes before.
  std::vector<double> pool_state(const StepSums& sums, const std::vector<int>& micro_batches) const;
  /// New running statistics from such rows, one after the other, in canonical order.
  void commit_state(std::span<const double> rows);

  /// Moves messages that are under way.
  void progress() { pipeline_.progress(); }

  /// Adds up the time of each of its layers from now on, in `times`; nullptr ends that.
  void measure(LayerTimes* times);

  /// Chunk::reserve of each chunk that it holds, in the order of the layer sequence.
  void reserve(std::span<const partition::ChunkBuffers> buffers);

 private:
  std::deque<Chunk> make_chunks(const partition::LayerSequence& sequence);
  StepSums no_sums(const StepWork& step, layers::Mode mode) const;
  StepSums run(const StepWork& step, layers::Mode mode, const ExecutorCallbacks& callbacks);
  const partition::Schedule& schedule(layers::Mode mode, int micro_batches);

  layers::Backend& backend_;
  layers::Stream& stream_;
  StageOptions options_;
  std::vector<int> chunk_ranks_;  // of the schedule
  LocalLayers local_;
  ParameterStore parameters_;
  BufferRing scratch_;
  std::deque<Chunk> chunks_;
  std::unique_ptr<comm::Communicator> own_links_;  // where the device's memory is not the host's
  comm::Communicator& pipeline_;
  Executor executor_;
  std::map<std::pair<layers::Mode, int>, partition::Schedule> schedules_;
};

}  // namespace penstock::runtime
