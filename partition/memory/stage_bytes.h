#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "layers/ops/norms.h"
#include "partition/model/micro_batch_layout.h"
#include "partition/model/parameter_layout.h"
#include "partition/schedule/in_flight.h"

namespace penstock::partition {

/// What a stage's memory is spent on, in bytes.
struct StageBytes {
  std::size_t weights = 0;    // masters, and what layers that compute in halves read
  std::size_t gradients = 0;  // one sum for each lane of the replica
  std::size_t optimizer = 0;  // its state, what an update may go back to, and agreement on norms
  std::size_t state = 0;
  std::size_t saved = 0;     // for backward, of the micro-batches in flight
  std::size_t messages = 0;  // inputs, features that arrive, gradients at both ends, and NCCL's own
  std::size_t scratch = 0;
  std::size_t reduction = 0;  // other replicas' gradients until they are added, and NCCL's for them
  /// Not among them: masters and optimizer state that other replicas hold instead.
  std::size_t spared = 0;
  std::size_t host = 0;  // nor these, of the host: what is offloaded

  std::size_t total() const {
    return weights + gradients + optimizer + state + saved + messages + scratch + reduction;
  }
  bool operator==(const StageBytes&) const = default;
};

/// Of one buffer of each kind, for the largest micro-batch.
struct BufferBytes {
  std::size_t slot = 0, recomputed = 0, scratch = 0;
  std::size_t input = 0, output_gradient = 0, input_gradient = 0;
  std::size_t features = 0;  // of a chunk that reads them onto a device

  void cover(const MicroBatchLayout& layout, const ChunkRole& role);
};

/// All buffers of a chunk by kind, in bytes. Training and evaluation take turns in them.
struct ChunkBuffers {
  std::size_t slots = 0, recomputed = 0, scratch = 0;
  std::size_t inputs = 0, output_gradients = 0, input_gradients = 0;
  std::size_t features = 0;  // of two micro-batches: one arrives while the other is read
  std::size_t host = 0;      // of the host's memory: slots that are offloaded

  /// Makes room for so many buffers of those sizes.
  void cover(const BufferBytes& each, const InFlight& count);
  /// Those of another chunk of the same rank as well; both use one scratch.
  void join(const ChunkBuffers& other);
};

/// What the optimizer keeps.
struct SlotCounts {
  int of_elements = 2;    // arenas
  int of_parameters = 0;  // single FP64 numbers of each parameter
};

struct ParameterSums;

struct ParameterBytes {
  std::vector<int> lanes_of = {1};  // each replica
  SlotCounts slots = {};            // of the optimizer
  ParameterKinds kinds = {};
  bool rollback = false;  // of what an update changes, until all ranks know the norm
  /// Memory that adding the gradients over replicas takes on each of them. `layout` is that of any
  /// of the replicas. Empty: there is only one.
  std::function<std::vector<std::size_t>(const ParameterLayout& layout)> reduction = {};

  /// Of the replica that needs most: without what does not add up over layers. `sums` are those of
  /// replicas that share nothing.
  double at_least(const ParameterSums& sums) const;
};

/// What the parameters and the state of some layers come to on a replica, in bytes. Where replicas
/// share nothing, those of layers add up, whichever they are.
struct ParameterSums {
  std::size_t arena = 0, masters = 0, copies = 0, slot = 0;  // as ParameterLayout's
  std::size_t changing_masters = 0, changing_copies = 0;
  std::size_t parameters = 0, state = 0;
  std::int64_t owned_blocks = 0;

  void add(const ParameterSums& other);
  /// Of the last layers, where these are those of all of them, and `first` those of the first.
  ParameterSums behind(const ParameterSums& first) const;
};
ParameterSums sums_of(std::span<const layers::LayerPlan> layers, const ParameterLayout& layout);

/// Of one of the replicas.
StageBytes stage_bytes(std::span<const layers::LayerPlan> layers, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica = 0);
/// Of each of the replicas, which share the update, without buffers.
std::vector<StageBytes> bytes_of_sharers(std::span<const layers::LayerPlan> layers,
                                         const ParameterBytes& parameters);
/// The same of layers with those sums. The replicas must share nothing.
StageBytes stage_bytes(const ParameterSums& sums, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica = 0);

/// Of a chunk, for a stage that has none yet.
void add_buffers(const ChunkBuffers& buffers, StageBytes& bytes);

/// Bytes of the table of the norm blocks that a rank owns.
std::size_t table_bytes(const ParameterLayout& layout);

/// FP64 numbers by which ranks agree on the gradient of a model of so many norm blocks: a sum and a
/// magnitude of each.
constexpr std::size_t gradient_norm_numbers(std::int64_t model_blocks) {
  return 2 * static_cast<std::size_t>(model_blocks);
}
/// Bytes of these, and of the results: this rank's alone, and all ranks' own.
constexpr std::size_t gradient_norm_bytes(std::int64_t model_blocks) {
  return gradient_norm_numbers(model_blocks) * sizeof(double) +
         2 * sizeof(layers::GradientNormResult);
}

/// Norm blocks of the parameters of `layers`.
std::int64_t norm_blocks(std::span<const layers::LayerPlan> layers);
/// Of the layers before each of them.
std::vector<std::int64_t> norm_blocks_before(std::span<const layers::LayerPlan> layers);

/// Bytes of one FP64 number for each parameter.
std::size_t number_bytes(const std::vector<layers::LayerPlan>& layers);

}  // namespace penstock::partition
