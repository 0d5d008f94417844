#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "layers/ops/norms.h"
#include "partition/layout/micro_batch_layout.h"
#include "partition/layout/parameter_layout.h"
#include "partition/schedule/in_flight.h"

namespace penstock::partition {

/// StageBytes breaks down a stage's memory, in bytes.
struct StageBytes {
  std::size_t weights = 0;    // masters, and the rounded copies that layers in half precision read
  std::size_t gradients = 0;  // one arena for each lane of the replica
  std::size_t optimizer = 0;  // optimizer state, rollback buffer, agreement on the gradient norm
  std::size_t state = 0;
  /// Activations for backward of the micro-batches in flight. In an evaluation that writes texts,
  /// their keys and values.
  std::size_t saved = 0;
  /// Inputs, features on their way to the device, gradients at both ends, and NCCL's own.
  std::size_t messages = 0;
  std::size_t scratch = 0;
  /// Gradients of other replicas until they are added, and NCCL's memory for them.
  std::size_t reduction = 0;
  /// Masters and optimizer state that other replicas hold instead. Not part of the total.
  std::size_t sharded_away = 0;
  std::size_t host = 0;  // offloaded activations in host memory; not part of the total

  std::size_t total() const {
    return weights + gradients + optimizer + state + saved + messages + scratch + reduction;
  }
  bool operator==(const StageBytes&) const = default;
};

/// BufferBytes holds the bytes of one buffer of each kind, for the largest micro-batch.
struct BufferBytes {
  std::size_t slot = 0, recomputed = 0, scratch = 0;
  std::size_t input = 0, output_gradient = 0, input_gradient = 0;
  std::size_t features = 0;  // for a chunk that reads features onto a device
  std::size_t cache = 0;     // keys and values, while an evaluation writes texts

  void cover(const MicroBatchLayout& layout, const ChunkRole& role);
};

/// ChunkBuffers holds the bytes of all buffers of a chunk, by kind. Training and evaluation use
/// them in turn.
struct ChunkBuffers {
  std::size_t slots = 0, recomputed = 0, scratch = 0;
  std::size_t inputs = 0, output_gradients = 0, input_gradients = 0;
  std::size_t features = 0;  // two micro-batches: one arrives while the other is read
  std::size_t host = 0;      // slots that are offloaded, in host memory
  std::size_t caches = 0;

  /// Raises each size to that of `count` buffers of `each`, if it is smaller.
  void cover(const BufferBytes& each, const InFlight& count);
  /// Adds the buffers of another chunk of the same rank. Both chunks use one scratch buffer.
  void join(const ChunkBuffers& other);
};

/// The numbers that are kept for each parameter besides its value.
struct SlotCounts {
  int of_elements = 2;    // number of arenas
  int of_parameters = 0;  // FP64 numbers per parameter tensor
  int averages = 0;       // number of arenas of moving averages of the weights
};

struct ParameterSums;

/// ParameterBytes holds what the memory of a stage's parameters depends on, except its layers.
struct ParameterBytes {
  std::vector<int> lanes_of = {1};  // gradient lanes of each replica
  SlotCounts slots = {};            // slots of the optimizer
  ParameterKinds kinds = {};
  bool rollback = false;  // true if updates can be rolled back until all ranks know the norm
  /// Returns the workspace that the reduction of gradients needs on each replica. `layout` is the
  /// layout of any replica. Empty if there is only one replica.
  std::function<std::vector<std::size_t>(const ParameterLayout& layout)> reduction = {};

  /// Returns a lower bound for the replica that needs most, from terms that add up over layers.
  /// `sums` are for replicas that share nothing.
  double at_least(const ParameterSums& sums) const;
};

/// ParameterSums holds the bytes of the parameters and the state of some layers on a replica. If
/// replicas share nothing, the sums of any layers add up.
struct ParameterSums {
  std::size_t arena = 0, masters = 0, copies = 0, slot = 0;  // see ParameterLayout
  std::size_t changing_masters = 0, changing_copies = 0, unused_masters = 0;
  std::size_t parameters = 0, state = 0;
  std::int64_t owned_blocks = 0;

  void add(const ParameterSums& other);
  /// Returns the sums of the remaining layers, if this object covers all of them and `first` the
  /// first ones.
  ParameterSums after(const ParameterSums& first) const;
};
ParameterSums sums_of(std::span<const layers::LayerPlan> layers, const ParameterLayout& layout);

/// Returns the memory of one replica.
StageBytes stage_bytes(std::span<const layers::LayerPlan> layers, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica = 0);
/// Returns the memory, without buffers, of each replica that shares the update.
std::vector<StageBytes> bytes_of_sharers(std::span<const layers::LayerPlan> layers,
                                         const ParameterBytes& parameters);
/// Returns the memory of layers with these sums. The replicas must share nothing.
StageBytes stage_bytes(const ParameterSums& sums, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica = 0);

/// Sets the buffers of a stage that has none yet.
void add_buffers(const ChunkBuffers& buffers, StageBytes& bytes);

/// Returns the bytes of the table of the norm blocks that a rank owns.
std::size_t table_bytes(const ParameterLayout& layout);

/// Returns how many FP64 numbers the ranks exchange to agree on the gradient norm: a squared sum
/// and a magnitude per norm block of the model.
constexpr std::size_t gradient_norm_numbers(std::int64_t model_blocks) {
  return 2 * static_cast<std::size_t>(model_blocks);
}
/// Returns the bytes of these numbers and of two results: this rank's, and all ranks'.
constexpr std::size_t gradient_norm_bytes(std::int64_t model_blocks) {
  return gradient_norm_numbers(model_blocks) * sizeof(double) +
         2 * sizeof(layers::GradientNormResult);
}

/// Returns the number of norm blocks of the parameters of `layers`.
std::int64_t norm_blocks(std::span<const layers::LayerPlan> layers);
/// Returns, for each layer, the number of norm blocks of the layers before it.
std::vector<std::int64_t> norm_blocks_before(std::span<const layers::LayerPlan> layers);

/// Returns the bytes of one FP64 number for each parameter tensor.
std::size_t number_bytes(const std::vector<layers::LayerPlan>& layers);

}  // namespace penstock::partition
