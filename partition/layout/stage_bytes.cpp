#include "partition/layout/stage_bytes.h"

#include <algorithm>
#include <array>

// A stage's memory is what its parameters need and what its buffers need. The parameters' bytes
// follow from a few sums over its layers (kept_bytes), and these from its layout of parameters. The
// buffers' bytes are their size times the number that the schedule has in flight. None of it is
// estimated: the runtime allocates the same layouts. Only the memory of NCCL, a library, is a
// bound.
//
// Replicas that share the update differ, because each owns other pieces. bytes_of_sharers()
// computes all of them, and how much each is spared compared with a replica that shares nothing.

namespace penstock::partition {
namespace {

std::size_t bytes_of(const layers::Shape& shape, layers::DType dtype) {
  return layers::aligned(static_cast<std::size_t>(layers::element_count(shape)) *
                         layers::size_of(dtype));
}

}  // namespace

void BufferBytes::cover(const MicroBatchLayout& layout, const ChunkRole& role) {
  slot = std::max(slot, layout.slot_bytes);
  recomputed = std::max(recomputed, layout.recomputed_bytes);
  scratch = std::max(scratch, layout.scratch_bytes);
  input = std::max(input, layout.input_message_bytes());
  cache = std::max(cache, layout.cache_bytes);
  if (role.sends_output)
    output_gradient = std::max(output_gradient, layout.activations.back().bytes());
  if (role.sends_input_gradient && !layout.sends_what_it_keeps())
    input_gradient = std::max(input_gradient, layout.activations.front().bytes());
}

void ChunkBuffers::cover(const BufferBytes& each, const InFlight& count) {
  slots = std::max(slots, each.slot * count.slots);
  recomputed = std::max(recomputed, each.recomputed * count.recomputed);
  scratch = std::max(scratch, each.scratch);
  inputs = std::max(inputs, each.input * count.inputs);
  output_gradients = std::max(output_gradients, each.output_gradient * count.output_gradients);
  input_gradients = std::max(input_gradients, each.input_gradient * count.input_gradients);
  features = std::max(features, 2 * each.features);
  host = std::max(host, each.slot * count.host);
  caches = std::max(caches, each.cache * count.caches);
}

void ChunkBuffers::join(const ChunkBuffers& other) {
  slots += other.slots;
  recomputed += other.recomputed;
  scratch = std::max(scratch, other.scratch);
  inputs += other.inputs;
  output_gradients += other.output_gradients;
  input_gradients += other.input_gradients;
  features += other.features;
  host += other.host;
  caches += other.caches;
}

std::vector<std::int64_t> norm_blocks_before(std::span<const layers::LayerPlan> layers) {
  std::vector<std::int64_t> before;
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    before.push_back(blocks);
    blocks += norm_blocks(layers.subspan(i, 1));
  }
  return before;
}

std::int64_t norm_blocks(std::span<const layers::LayerPlan> layers) {
  std::int64_t blocks = 0;
  for (const layers::LayerPlan& layer : layers)
    for (const layers::ParamDecl& p : layer.params)
      blocks += layers::norm_blocks(layers::element_count(p.shape));
  return blocks;
}

namespace {

/// The sums that add() and after() combine member by member.
constexpr std::array kSums = {&ParameterSums::arena,
                              &ParameterSums::masters,
                              &ParameterSums::copies,
                              &ParameterSums::slot,
                              &ParameterSums::changing_masters,
                              &ParameterSums::changing_copies,
                              &ParameterSums::unused_masters,
                              &ParameterSums::parameters,
                              &ParameterSums::state};

/// Returns the bytes of one FP64 number for each parameter tensor.
std::size_t numbers_of(std::size_t parameters) {
  return layers::aligned(parameters * sizeof(double));
}

/// Returns the bytes of the table that describes owned norm blocks to the optimizer.
std::size_t table_of(std::int64_t blocks) {
  return static_cast<std::size_t>(blocks) * sizeof(layers::ArenaBlock);
}

/// Returns the memory without buffers, without the workspace of the reduction and without
/// `sharded_away`.
StageBytes kept_bytes(const ParameterSums& sums, const ParameterBytes& parameters, int replica) {
  StageBytes bytes;
  bytes.weights = sums.masters + sums.copies;
  bytes.gradients = sums.arena * parameters.lanes_of.at(replica);
  bytes.optimizer =
      (sums.slot + scale_bytes(sums.slot, parameters.kinds)) * parameters.slots.of_elements +
      average_bytes(sums.slot, parameters.kinds) * parameters.slots.averages +
      numbers_of(sums.parameters) * parameters.slots.of_parameters;
  if (parameters.rollback)
    bytes.optimizer += bytes.optimizer + sums.changing_masters + sums.changing_copies;
  bytes.optimizer += table_of(sums.owned_blocks);
  bytes.state = sums.state;
  return bytes;
}

}  // namespace

void add_buffers(const ChunkBuffers& buffers, StageBytes& bytes) {
  bytes.saved = buffers.slots + buffers.recomputed + buffers.caches;
  bytes.messages =
      buffers.inputs + buffers.features + buffers.output_gradients + buffers.input_gradients;
  bytes.scratch = buffers.scratch;
  bytes.host = buffers.host;
}

/// If replicas share, the fullest replica needs at least their mean.
double ParameterBytes::at_least(const ParameterSums& sums) const {
  const auto slots_of = sums.slot * static_cast<std::size_t>(slots.of_elements) +
                        average_bytes(sums.slot, kinds) * static_cast<std::size_t>(slots.averages);
  if (kinds.sharing.replicas == 1)
    return static_cast<double>(sums.masters + sums.copies +
                               sums.arena * static_cast<std::size_t>(lanes_of.front()) + slots_of);
  const bool parts = layers::is_half(kinds.compute);
  const std::size_t masters = parts ? sums.changing_masters - sums.unused_masters : 0;
  const auto shared = static_cast<double>(slots_of + masters);
  return static_cast<double>(sums.copies + (parts ? 0 : sums.masters) +
                             sums.arena * static_cast<std::size_t>(lanes_of.back())) +
         shared / kinds.sharing.replicas;
}

void ParameterSums::add(const ParameterSums& other) {
  for (const auto sum : kSums) this->*sum += other.*sum;
  owned_blocks += other.owned_blocks;
}

ParameterSums ParameterSums::after(const ParameterSums& first) const {
  ParameterSums rest = *this;
  for (const auto sum : kSums) rest.*sum -= first.*sum;
  rest.owned_blocks -= first.owned_blocks;
  return rest;
}

ParameterSums sums_of(std::span<const layers::LayerPlan> layers, const ParameterLayout& layout) {
  ParameterSums sums{.arena = layout.arena,
                     .masters = layout.masters,
                     .copies = layout.copies,
                     .slot = layout.slot,
                     .changing_masters = layout.changing_masters,
                     .changing_copies = layout.changing_copies,
                     .unused_masters = layout.unused_masters,
                     .parameters = layout.parameters.size()};
  for (const layers::LayerPlan& layer : layers)
    for (const layers::StateDecl& s : layer.state)
      sums.state += bytes_of(s.shape, layout.kinds.dtype);
  for (const ParameterPiece& piece : layout.owned) sums.owned_blocks += piece.blocks();
  return sums;
}

std::size_t table_bytes(const ParameterLayout& layout) {
  return table_of(sums_of({}, layout).owned_blocks);
}

std::size_t number_bytes(const std::vector<layers::LayerPlan>& layers) {
  std::size_t count = 0;
  for (const layers::LayerPlan& layer : layers) count += layer.params.size();
  return numbers_of(count);
}

StageBytes stage_bytes(const ParameterSums& sums, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica) {
  StageBytes bytes = kept_bytes(sums, parameters, replica);
  add_buffers(buffers, bytes);
  ParameterLayout whole;  // the fields that `reduction` reads of an unshared layout
  whole.kinds = parameters.kinds;
  whole.arena = sums.arena;
  if (parameters.reduction)
    bytes.reduction = parameters.reduction(whole).at(static_cast<std::size_t>(replica));
  return bytes;
}

StageBytes stage_bytes(std::span<const layers::LayerPlan> layers, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica) {
  if (parameters.kinds.sharing.replicas > 1) {
    StageBytes bytes = bytes_of_sharers(layers, parameters).at(static_cast<std::size_t>(replica));
    add_buffers(buffers, bytes);
    return bytes;
  }
  const ParameterLayout layout = lay_out_parameters(layers, parameters.kinds, replica);
  return stage_bytes(sums_of(layers, layout), buffers, parameters, replica);
}

std::vector<StageBytes> bytes_of_sharers(std::span<const layers::LayerPlan> layers,
                                         const ParameterBytes& parameters) {
  ParameterBytes unshared{{1}, parameters.slots, parameters.kinds, parameters.rollback, {}};
  unshared.kinds.sharing = {};
  const StageBytes all = stage_bytes(layers, {}, unshared);
  ParameterLayout layout = lay_out_parameters(layers, parameters.kinds, 0);
  std::vector<std::size_t> reductions(parameters.kinds.sharing.replicas);
  if (parameters.reduction) reductions = parameters.reduction(layout);
  std::vector<StageBytes> of_replicas;
  for (int replica = 0; replica < parameters.kinds.sharing.replicas; ++replica) {
    if (replica > 0) lay_out_for(replica, layout);
    StageBytes& bytes =
        of_replicas.emplace_back(kept_bytes(sums_of(layers, layout), parameters, replica));
    bytes.reduction = reductions.at(static_cast<std::size_t>(replica));
    bytes.sharded_away = all.weights + all.optimizer - bytes.weights - bytes.optimizer;
  }
  return of_replicas;
}

}  // namespace penstock::partition
