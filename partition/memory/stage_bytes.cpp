#include "partition/memory/stage_bytes.h"

#include <algorithm>

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
}

void ChunkBuffers::join(const ChunkBuffers& other) {
  slots += other.slots;
  recomputed += other.recomputed;
  scratch = std::max(scratch, other.scratch);
  inputs += other.inputs;
  output_gradients += other.output_gradients;
  input_gradients += other.input_gradients;
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

std::size_t table_bytes(const ParameterLayout& layout) {
  std::int64_t blocks = 0;
  for (const ParameterPiece& piece : layout.owned) blocks += piece.blocks();
  return static_cast<std::size_t>(blocks) * sizeof(layers::ArenaBlock);
}

std::size_t number_bytes(const std::vector<layers::LayerPlan>& layers) {
  std::size_t count = 0;
  for (const layers::LayerPlan& layer : layers) count += layer.params.size();
  return layers::aligned(count * sizeof(double));
}

StageBytes stage_bytes(const std::vector<layers::LayerPlan>& layers, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters, int replica) {
  const ParameterLayout layout = lay_out_parameters(layers, parameters.kinds, replica);
  StageBytes bytes;
  bytes.weights = layout.masters + layout.copies;
  bytes.gradients = layout.arena * parameters.lanes_of.at(replica);
  bytes.optimizer = (layout.slot + layout.scales) * parameters.slots.of_elements +
                    number_bytes(layers) * parameters.slots.of_parameters;
  if (parameters.rollback)
    bytes.optimizer += bytes.optimizer + layout.changing_masters + layout.changing_copies;
  bytes.optimizer += table_bytes(layout);
  for (const layers::LayerPlan& layer : layers)
    for (const layers::StateDecl& s : layer.state)
      bytes.state += bytes_of(s.shape, parameters.kinds.dtype);
  bytes.saved = buffers.slots + buffers.recomputed;
  bytes.messages = buffers.inputs + buffers.output_gradients + buffers.input_gradients;
  bytes.scratch = buffers.scratch;
  if (parameters.reduction) bytes.reduction = parameters.reduction(layout, replica);
  if (parameters.kinds.sharing.replicas == 1) return bytes;
  ParameterBytes unshared{{1}, parameters.slots, parameters.kinds, parameters.rollback, {}};
  unshared.kinds.sharing = {};
  const StageBytes all = stage_bytes(layers, {}, unshared);
  bytes.spared = all.weights + all.optimizer - bytes.weights - bytes.optimizer;
  return bytes;
}

}  // namespace penstock::partition
