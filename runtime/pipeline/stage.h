#pragma once

#include <map>
#include <string>

#include "partition/chain.h"
#include "runtime/pipeline/device_links.h"
#include "runtime/pipeline/executor.h"

namespace penstock {

/// Which part of the model a rank holds.
struct StageOptions {
  int stage = 0, stages = 1;
  std::size_t first_layer = 0, last_layer = 0;  // [first, last) of the chain
  std::string schedule = "1f1b";
  StoreOptions store;
  std::uint64_t seed = 0;
  BackendSizes sizes;
  DeviceLinks links = DeviceLinks::host;  // on a device with memory of its own
};

/// A rank's share of the model, ready to compute: parameters, buffers, and the executor that runs
/// them within the pipeline.
class Stage {
 public:
  /// `pipeline` has one rank for each stage, in order. `chain` must outlive the stage.
  Stage(Backend& backend, Stream& stream, Communicator& pipeline, const Chain& chain,
        const StageOptions& options);

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const Chunk& chunk() const { return chunk_; }
  const std::vector<LayerPlan>& plans() const { return plans_; }
  LayerRange layers() const { return layers_; }
  bool first() const { return options_.stage == 0; }
  bool last() const { return options_.stage + 1 == options_.stages; }
  /// True where a layer of this stage reads labels.
  bool needs_targets() const;

  /// Forward and backward of every micro-batch; gradients are added to the lanes' arenas, for what
  /// the stream is asked for next. Before the next call, complete() what it returns.
  StepSums train(const StepWork& step, const ExecutorCallbacks& callbacks);
  /// Waits for what is still being sent and computed: then losses and state's sums are there.
  void complete(StepSums& sums);
  /// Forward only; nothing of the model changes. Micro-batches go through the stages some at a
  /// time, so that memory doesn't grow with their number. `read_features` counts them anew each
  /// time.
  StepSums evaluate(const StepWork& step, const ExecutorCallbacks& callbacks);

  /// New running statistics from the sums of all micro-batches, in canonical order.
  void commit_state(std::span<const double> sums, int micro_batches);

  /// Moves messages that are under way.
  void progress() { pipeline_.progress(); }

  /// Chunk::measure of what this stage holds.
  void measure(LayerTimes* times) { chunk_.measure(times); }

  /// Chunk::reserve of what this stage holds.
  void reserve(const ChunkBuffers& buffers) { chunk_.reserve(buffers); }

 private:
  StepSums run(const StepWork& step, Mode mode, const ExecutorCallbacks& callbacks);
  const Schedule& schedule(Mode mode, int micro_batches);

  Backend& backend_;
  Stream& stream_;
  StageOptions options_;
  LayerRange layers_;
  std::vector<LayerPlan> plans_;
  ParameterStore parameters_;
  Chunk chunk_;
  std::unique_ptr<Communicator> own_links_;  // where the device's memory is not the host's
  Communicator& pipeline_;
  Executor executor_;
  std::map<std::pair<Mode, int>, Schedule> schedules_;
};

}  // namespace penstock
