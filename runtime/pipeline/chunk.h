#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "layers/backend.h"
#include "partition/memory/stage_bytes.h"
#include "partition/model/micro_batch_layout.h"
#include "runtime/pipeline/buffer_ring.h"
#include "runtime/pipeline/feature_staging.h"
#include "runtime/pipeline/host_slots.h"
#include "runtime/pipeline/parameter_store.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// One micro-batch on its way through one chunk: where its buffers are. -1: none taken.
struct MicroBatchRun {
  const MicroBatchWork* work = nullptr;
  partition::MicroBatchLayout layout;
  int slot = -1, recomputed = -1, input = -1, output_gradient = -1, input_gradient = -1;
  int host = -1;                    // what leaves the slot for backward waits there
  std::vector<double> losses = {};  // of the utterances, of the last chunk
};

/// What a stage leaves behind for the step. Losses stand in the step's canonical order of
/// micro-batches, over all replicas.
struct StepSums {
  std::vector<double> losses;  // of each micro-batch, summed over its utterances; last stage only
  std::vector<double> state;   // StepWork::micro_batches × numbers that layers leave: Layer::pool
  /// Of the utterances of each micro-batch, where losses are not added up yet.
  std::vector<std::vector<double>> utterance_losses = {};
  std::vector<std::unique_ptr<comm::Transfer>> leaving = {};  // messages that are still being sent
};

/// Seconds that each layer of a stage has spent in each method.
struct LayerTimes {
  std::vector<double> forward, backward_input, backward_weight;
};

/// A contiguous range of the model's layers with their parameters and buffers: computes forward and
/// backward of one micro-batch, and knows nothing of ranks or messages.
class Chunk {
 public:
  struct Options {
    partition::LayerRange before;  // the model's layers in front of this chunk
    partition::LayerRange layers;
    int features = 0;  // channels of the model's input
    partition::ChunkRole role;
    layers::BackendSizes sizes;
    /// The stage's layers, and their numbers in a row of StepSums::state, before this chunk's.
    std::size_t first_layer = 0, first_sum = 0;
    std::size_t row_of_sums = 0;  // numbers of all its layers
  };
  /// `scratch` is for whatever computes on the stage, one layer of one chunk at a time.
  Chunk(layers::Backend& backend, layers::Stream& stream, ParameterStore& parameters,
        BufferRing& scratch, const Options& options);

  const partition::ChunkRole& role() const { return options_.role; }
  partition::MicroBatchLayout lay_out(const MicroBatchWork& work, layers::Mode mode) const;
  /// Allocates, so that what fits in there allocates nothing. No micro-batch is under way.
  void reserve(const partition::ChunkBuffers& buffers);
  /// Divides the memory into so many buffers of those sizes; allocates where there is too little.
  void divide(const partition::BufferBytes& each, const partition::InFlight& count);

  /// Whole messages: an activation (or its gradient) and, behind activations, the loss weights.
  std::span<std::byte> input_message(const MicroBatchRun& run) const;
  std::span<std::byte> output_message(const MicroBatchRun& run) const;
  std::span<std::byte> output_gradient(const MicroBatchRun& run) const;
  std::span<std::byte> input_gradient(const MicroBatchRun& run) const;

  /// Behind a finished stream the losses of `run` are there, if this is the last chunk, and the
  /// state's sums.
  void forward(MicroBatchRun& run, const StepWork& step, layers::Mode mode, StepSums& sums);
  /// Before backward, where MicroBatchLayout::recomputes_output(): runs the last layers' forward
  /// again, which makes the same once more.
  void recompute_output(MicroBatchRun& run, const StepWork& step, StepSums& sums);
  /// Both passes of backward, layer by layer, other layers' recomputation among them; for a chunk
  /// whose role parts them, one pass of all layers after the other. `layer_done(i)` is called when
  /// the gradients of layer i have got this micro-batch's share, i counted over the stage's layers.
  using LayerDone = std::function<void(std::size_t)>;
  void backward(MicroBatchRun& run, const StepWork& step, StepSums& sums,
                const LayerDone& layer_done);
  void backward_input(MicroBatchRun& run, const StepWork& step, StepSums& sums);
  void backward_weight(const MicroBatchRun& run, const StepWork& step, const LayerDone& layer_done);

  /// Has `fill` write the features of a micro-batch, FP32 frames × channels, and the loss weights
  /// of its utterances, and takes them as the chunk's input in the compute type. Where they were
  /// read ahead, it takes those.
  using Fill = FeatureStaging::Fill;
  void read(const MicroBatchRun& run, const Fill& fill);
  /// On a device, the same of the micro-batch that is read next, as far as to the device's memory:
  /// it arrives while the device computes.
  void read_ahead(const MicroBatchWork& work, const Fill& fill);
  /// What enters the last layer, in FP32 and on the host, until the chunk's next call.
  layers::Frames logits(const MicroBatchRun& run);

  /// What passes to this chunk or from it within the stage, in the order of the stream.
  void copy(std::span<std::byte> to, std::span<const std::byte> from);

  /// What `run` keeps in its slot, to its buffer of the host and back. Behind the event it is
  /// there.
  std::unique_ptr<layers::Event> offload(const MicroBatchRun& run);
  std::unique_ptr<layers::Event> reload(const MicroBatchRun& run);
  /// Backward reads what was reloaded, after that event.
  void await(const layers::Event& reloaded) { backend_.wait(stream_, reloaded); }
  /// Backward has been the last to read the slot of `run`: another may be reloaded there.
  void release_slot(const MicroBatchRun& run) { host_slots.release(stream_, run.slot); }

  /// Adds up each layer's time from now on, in `times` of all the stage's layers; nullptr ends
  /// that.
  void measure(LayerTimes* times) { times_ = times; }

  BufferRing slots, recomputed, inputs, output_gradients, input_gradients;
  HostSlots host_slots;

 private:
  bool runs_backward(const MicroBatchRun& run, std::size_t layer) const {
    return run.layout.layers[layer].runs_backward();
  }
  void finish_input_gradient(const MicroBatchRun& run);
  double* time_of(std::vector<double> LayerTimes::*method, std::size_t layer) const;
  void run_forward(MicroBatchRun& run, const StepWork& step, layers::Mode mode,
                   const partition::LayerRun& layers, StepSums& sums);
  void recompute_before(MicroBatchRun& run, const StepWork& step, std::size_t layer,
                        StepSums& sums);
  void pass_gradient(const MicroBatchRun& run, const StepWork& step, std::size_t layer);
  void add_gradient(const MicroBatchRun& run, const StepWork& step, std::size_t layer);
  FeatureStaging::Count features_of(const MicroBatchWork& work) const;
  void read_from_device(const MicroBatchRun& run, const layers::Tensor& x_FC);
  layers::Tensor in_fp32(const MicroBatchRun& run, const layers::Tensor& x_FC) const;
  void fill_gaps(const layers::Activation& message);
  void write_gaps();
  std::span<float> loss_weights(const MicroBatchRun& run) const;
  layers::Activation activation(const MicroBatchRun& run, std::size_t layer) const;
  std::byte* at(const MicroBatchRun& run, const partition::Place& place) const;
  layers::Activation gradient(const MicroBatchRun& run, std::size_t layer) const;
  std::vector<layers::Tensor> saved(const MicroBatchRun& run, std::size_t layer,
                                    bool backward) const;
  layers::Context context(const MicroBatchRun& run, const StepWork& step, std::size_t layer,
                          layers::Mode mode) const;

  layers::Backend& backend_;
  layers::Stream& stream_;
  ParameterStore& parameters_;
  BufferRing& scratch_;  // one buffer
  Options options_;
  FeatureStaging staging_;
  layers::Buffer logits_;  // on the host, where the device's memory is another
  LayerTimes* times_ = nullptr;
  std::size_t written_ = 0;  // bytes of all slots when their gaps were written last
};

}  // namespace penstock::runtime
