#pragma once

#include <deque>
#include <map>

#include "layers/losses/loss.h"
#include "partition/layout/layer_sequence.h"
#include "partition/schedule/run_schedule.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/executor.h"
#include "runtime/pipeline/local_layers.h"
#include "runtime/pipeline/text_generation.h"

namespace penstock::runtime {

/// The part of the model that a rank holds: the chunks that the schedule assigns to it.
struct StageOptions {
  int stage = 0;
  partition::RunSchedule schedule;
  /// First layer of each of the schedule's chunks, then the layer sequence's number of layers.
  std::vector<int> cut;
  /// Layers of the sequence to recompute, see ChunkRole::recomputes.
  partition::ChosenLayers recompute = {};
  StoreOptions store;
  std::uint64_t seed = 0;
  layers::BackendSizes sizes;
  DeviceLinks links = DeviceLinks::host;  // used on devices with memory of their own
};

/// A rank's share of the model, ready to compute: parameters, buffers, and the executor that runs
/// them within the pipeline. Its layers are those of its chunks, in the order of the layer
/// sequence.
class Stage {
 public:
  /// `pipeline` has one rank per stage, in order. `sequence` must outlive the stage. Error if the
  /// cut and the schedule have different numbers of chunks.
  Stage(layers::Backend& backend, layers::Stream& stream, comm::Communicator& pipeline,
        const partition::LayerSequence& sequence, const StageOptions& options);

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  /// True if it holds the layer sequence's first layers, which read features.
  bool first() const { return chunk_ranks_.front() == options_.stage; }
  /// True if it holds the layer sequence's last layers, which compute the loss.
  bool last() const { return chunk_ranks_.back() == options_.stage; }
  /// Returns the parameters of the layer sequence's last layer, as it reads them, in the host's
  /// memory. Waits for the stream. Only for a stage that is last().
  [[nodiscard]] std::vector<layers::HostParameter> last_parameters() const;
  /// Number of layers that it holds.
  std::size_t layers() const { return local_.layers.size(); }
  /// True if a layer of this stage reads labels, or one before it whose output depends on their
  /// number.
  bool needs_labels() const { return local_.needs_labels; }

  /// True if the model has parameters that are tied to others (ParamDecl::tied_to).
  [[nodiscard]] bool ties() const;
  /// Returns the layout of the parameters of any stage, on replica 0.
  [[nodiscard]] partition::ParameterLayout layout_of(int stage) const;

  /// Runs forward and backward of every micro-batch and adds gradients to the lanes' arenas. Work
  /// that is enqueued on the stream afterwards sees them. The returned sums must be passed to
  /// complete() before the next call.
  StepSums train(const StepWork& step, const ExecutorCallbacks& callbacks);
  /// On a device, starts the copy of the next step's first micro-batch of features, if this stage
  /// reads features. No other features may be read before that step.
  void prefetch(const StepWork& next, const ReadFeatures& read_features);
  /// Waits for pending sends and computations. Afterwards losses and the sums of the state are
  /// complete.
  void complete(StepSums& sums);
  /// Runs forward only; the model does not change. Micro-batches run in windows of fixed size, so
  /// that memory does not grow with their number. `read_features` counts micro-batches from the
  /// start of each window.
  StepSums evaluate(const StepWork& step, const ExecutorCallbacks& callbacks);

  /// Does the same, and writes the text of each utterance: see TextGeneration. Micro-batches must
  /// state their labels, of which there may be none. `progress` is called after every round of
  /// labels, and may be empty.
  StepSums write_texts(const StepWork& step, const ExecutorCallbacks& callbacks,
                       const layers::TextWriting& writing, const TextGeneration::Heard& heard,
                       const std::function<void()>& progress = {});

  /// Returns one row of state sums, pooled over these micro-batches in this order. `micro_batches`
  /// are indices into StepWork::micro_batches. complete() must be called first.
  std::vector<double> pool_state(const StepSums& sums, const std::vector<int>& micro_batches) const;
  /// Updates the running statistics from such rows, concatenated in canonical order.
  void commit_state(std::span<const double> rows);

  /// Makes messages in flight progress.
  void progress() { pipeline_.progress(); }

  /// Adds up the time of each of its layers in `times`. nullptr stops the measurement.
  void measure(LayerTimes* times);

  /// Calls Chunk::reserve for each of its chunks, in the order of the layer sequence.
  void reserve(std::span<const partition::ChunkBuffers> buffers);

 private:
  std::deque<Chunk> make_chunks(const partition::LayerSequence& sequence);
  StepSums no_sums(const StepWork& step, layers::Mode mode) const;
  StepSums run(const StepWork& step, layers::Mode mode, const ExecutorCallbacks& callbacks);
  /// Runs `run_window` for windows of `size` micro-batches, and returns their losses.
  using RunWindow = std::function<StepSums(const StepWork& window)>;
  StepSums run_windows(const StepWork& step, std::size_t size, const RunWindow& run_window);
  const partition::Schedule& schedule(layers::Mode mode, int micro_batches);

  layers::Backend& backend_;
  layers::Stream& stream_;
  StageOptions options_;
  std::vector<int> chunk_ranks_;  // rank of each chunk of the schedule
  LocalLayers local_;
  ParameterStore parameters_;
  BufferRing scratch_;
  std::deque<Chunk> chunks_;
  std::unique_ptr<comm::Communicator> own_links_;  // null on a CPU
  comm::Communicator& pipeline_;
  Executor executor_;
  std::map<std::pair<layers::Mode, int>, partition::Schedule> schedules_;
  comm::Communicator& host_pipeline_;
  const partition::LayerSequence& sequence_;
};

}  // namespace penstock::runtime
