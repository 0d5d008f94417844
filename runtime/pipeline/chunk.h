#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "layers/backend.h"
#include "layers/key_value_cache.h"
#include "partition/layout/micro_batch_layout.h"
#include "partition/layout/stage_bytes.h"
#include "runtime/pipeline/buffer_ring.h"
#include "runtime/pipeline/feature_staging.h"
#include "runtime/pipeline/host_slots.h"
#include "runtime/pipeline/parameter_store.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// The indices of one micro-batch's buffers in the rings of one chunk. An index of -1 means that no
/// buffer is taken.
struct MicroBatchRun {
  const MicroBatchWork* work = nullptr;
  partition::MicroBatchLayout layout;
  int slot = -1, recomputed = -1, input = -1, output_gradient = -1, input_gradient = -1;
  int host = -1;                              // buffer that holds the offloaded slot until backward
  int cache = -1;                             // in an evaluation that writes texts
  std::vector<double> losses = {};            // LayerPlan::losses per utterance; last chunk only
  std::vector<double> auxiliary_losses = {};  // per utterance, of LayerPlan::auxiliary_loss
};

/// Results that a stage accumulates during a step. Losses are in the step's canonical order of
/// micro-batches, over all replicas.
struct StepSums {
  std::vector<double> losses;  // one per micro-batch, summed over its utterances; last stage only
  std::vector<double> state;   // StepWork::micro_batches × numbers that layers write: Layer::pool
  /// Losses of the utterances of each micro-batch, before they are summed into `losses`.
  std::vector<std::vector<double>> utterance_losses = {};
  /// Losses that nobody reads, in memory that the device may still write.
  std::vector<std::vector<double>> auxiliary_losses = {};
  std::vector<std::unique_ptr<comm::Transfer>> leaving = {};  // messages that are still being sent
};

/// Seconds that each layer of a stage has spent in each method.
struct LayerTimes {
  std::vector<double> forward, backward_input, backward_weight;
};

/// A contiguous range of the model's layers with their parameters and buffers. It computes forward
/// and backward of one micro-batch, and does not know about ranks or messages.
class Chunk {
 public:
  struct Options {
    partition::LayerRange before;  // the model's layers that precede this chunk
    partition::LayerRange layers;
    int features = 0;  // channels of the model's input
    partition::ChunkRole role;
    layers::BackendSizes sizes;
    int beam = 1;  // hypotheses of a text for which evaluations that write texts have room
    /// Number of layers of the stage, and of sums in a row of StepSums::state, before this chunk's.
    std::size_t first_layer = 0, first_sum = 0;
    std::size_t row_of_sums = 0;  // length of a row: sums of all the stage's layers
  };
  /// `scratch` is shared by the chunks of a stage: only one layer of one chunk uses it at a time.
  Chunk(layers::Backend& backend, layers::Stream& stream, ParameterStore& parameters,
        BufferRing& scratch, const Options& options);

  const partition::ChunkRole& role() const { return options_.role; }
  partition::MicroBatchLayout lay_out(const MicroBatchWork& work, layers::Mode mode) const;
  /// Allocates the chunk's memory, so that steps that fit into it allocate nothing. No micro-batch
  /// may be in flight.
  void reserve(const partition::ChunkBuffers& buffers);
  /// Divides the memory into buffers: `count` says how many, `each` how large. Allocates if there
  /// is too little.
  void divide(const partition::BufferBytes& each, const partition::InFlight& count);

  /// Memory of whole messages. An activation message ends with the loss weights; a gradient message
  /// is the gradient alone.
  std::span<std::byte> input_message(const MicroBatchRun& run) const;
  std::span<std::byte> output_message(const MicroBatchRun& run) const;
  std::span<std::byte> output_gradient(const MicroBatchRun& run) const;
  std::span<std::byte> input_gradient(const MicroBatchRun& run) const;

  /// Runs forward of all layers. When the stream has finished, the sums of the state are complete
  /// and, for the last chunk, so are the losses of `run`.
  void forward(MicroBatchRun& run, const StepWork& step, layers::Mode mode, StepSums& sums);
  /// Reruns forward of the last layers if MicroBatchLayout::recomputes_output(). It is called
  /// before backward and reproduces the same values.
  void recompute_output(MicroBatchRun& run, const StepWork& step, StepSums& sums);
  /// Runs backward, recomputing activations where the layout says so. backward() runs both passes
  /// layer by layer. If the chunk's role splits backward, backward_input() runs one pass through
  /// all layers, and backward_weight() the other one later. `layer_done(i)` is called when this
  /// micro-batch has been added to the gradients of layer i, counted over the stage's layers.
  using LayerDone = std::function<void(std::size_t)>;
  void backward(MicroBatchRun& run, const StepWork& step, StepSums& sums,
                const LayerDone& layer_done);
  void backward_input(MicroBatchRun& run, const StepWork& step, StepSums& sums);
  void backward_weight(const MicroBatchRun& run, const StepWork& step, const LayerDone& layer_done);

  /// Calls `fill` to write the features of a micro-batch (FP32, frames × channels) and the loss
  /// weights of its utterances. Converts them to the compute type as the chunk's input. If
  /// prefetch() has sent the features, it uses those.
  using Fill = FeatureStaging::Fill;
  void read(const MicroBatchRun& run, const Fill& fill);
  /// On a device, reads the features of the next micro-batch and starts their copy to the device's
  /// memory, so that they arrive while the device computes. On a CPU it does nothing.
  void prefetch(const MicroBatchWork& work, const Fill& fill);
  /// Returns the input of the last layer, in FP32 and in the host's memory: its first matrix, or
  /// its last one, the text. It is valid until the chunk's next call.
  layers::Frames logits(const MicroBatchRun& run, bool text);

  /// Copies a message between this chunk and its neighbour on the same rank, in the stream's order.
  void copy(std::span<std::byte> to, std::span<const std::byte> from);

  /// Copies the slot of `run` to its host buffer, or back. The copy is complete when the event is.
  std::unique_ptr<layers::Event> offload(const MicroBatchRun& run);
  std::unique_ptr<layers::Event> reload(const MicroBatchRun& run);
  /// Makes the stream wait for a reload, so that backward reads the reloaded slot.
  void await(const layers::Event& reloaded) { backend_.wait(stream_, reloaded); }
  /// Marks backward as the last reader of the slot of `run`. Another micro-batch may then be
  /// reloaded into it.
  void release_slot(const MicroBatchRun& run) { host_slots.release(stream_, run.slot); }

  /// Adds up each layer's time in `times`, which has entries for all the stage's layers. nullptr
  /// stops the measurement.
  void measure(LayerTimes* times) { times_ = times; }

  /// Returns the cache of a layer for a micro-batch that has a buffer of caches, if it keeps one.
  /// `past` are the rows of the text that it holds of each utterance, or of each hypothesis of one
  /// after the other, and must outlive the result. A cache of memories holds all rows of each
  /// utterance's.
  std::optional<layers::KeyValueCache> cache(const MicroBatchRun& run, std::size_t layer,
                                             std::span<const std::int64_t> past) const;

  /// Return the memory of the rows that enter and leave the chunk while texts are written.
  std::byte* rows_in(const MicroBatchRun& run) const {
    return caches[run.cache] + run.layout.rows_in;
  }
  std::byte* rows_out(const MicroBatchRun& run) const {
    return caches[run.cache] + run.layout.rows_out;
  }

  BufferRing slots, recomputed, inputs, output_gradients, input_gradients, caches;
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
  void backward_input(const MicroBatchRun& run, const StepWork& step, std::size_t layer);
  void backward_weight(const MicroBatchRun& run, const StepWork& step, std::size_t layer);
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
  BufferRing& scratch_;  // holds one buffer
  Options options_;
  FeatureStaging staging_;
  layers::Buffer logits_;  // copy in the host's memory; unused on a CPU
  LayerTimes* times_ = nullptr;
  std::size_t written_ = 0;  // bytes of all slots when their gaps were last zeroed
};

}  // namespace penstock::runtime
