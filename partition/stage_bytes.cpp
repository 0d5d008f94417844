#include "partition/stage_bytes.h"

#include <algorithm>

namespace penstock {
namespace {

std::size_t bytes_of(const Shape& shape, DType dtype) {
  return aligned(static_cast<std::size_t>(element_count(shape)) * size_of(dtype));
}

}  // namespace

void BufferBytes::cover(const MicroBatchLayout& layout, StageEnds ends) {
  slot = std::max(slot, layout.slot_bytes);
  scratch = std::max(scratch, layout.scratch_bytes);
  input = std::max(input, layout.input_message_bytes());
  if (ends.sends_output)
    output_gradient = std::max(output_gradient, layout.activations.back().bytes());
  if (ends.sends_input_gradient)
    input_gradient = std::max(input_gradient, layout.activations.front().bytes());
}

void ChunkBuffers::cover(const BufferBytes& each, const InFlight& count) {
  slots = std::max(slots, each.slot * count.slots);
  scratch = std::max(scratch, each.scratch);
  inputs = std::max(inputs, each.input * count.inputs);
  output_gradients = std::max(output_gradients, each.output_gradient * count.output_gradients);
  input_gradients = std::max(input_gradients, each.input_gradient * kInputGradientBuffers);
}

std::size_t arena_bytes(const std::vector<LayerPlan>& layers, DType dtype) {
  std::size_t bytes = 0;
  for (const LayerPlan& layer : layers)
    for (const ParamDecl& p : layer.params) bytes += bytes_of(p.shape, dtype);
  return bytes;
}

std::size_t copy_bytes(const std::vector<LayerPlan>& layers, DType compute) {
  std::size_t bytes = 0;
  for (const LayerPlan& layer : layers)
    for (const ParamDecl& p : layer.params)
      if (has_copy(p, compute)) bytes += bytes_of(p.shape, compute);
  return bytes;
}

std::size_t number_bytes(const std::vector<LayerPlan>& layers) {
  std::size_t count = 0;
  for (const LayerPlan& layer : layers) count += layer.params.size();
  return aligned(count * sizeof(double));
}

StageBytes stage_bytes(const std::vector<LayerPlan>& layers, const ChunkBuffers& buffers,
                       const ParameterBytes& parameters) {
  StageBytes bytes;
  const std::size_t arena = arena_bytes(layers, parameters.dtype);
  bytes.weights = arena + copy_bytes(layers, parameters.compute);
  bytes.gradients = arena * parameters.lanes;
  bytes.optimizer =
      arena * parameters.slots.of_elements + number_bytes(layers) * parameters.slots.of_parameters;
  for (const LayerPlan& layer : layers)
    for (const StateDecl& s : layer.state) bytes.state += bytes_of(s.shape, parameters.dtype);
  bytes.saved = buffers.slots;
  bytes.messages = buffers.inputs + buffers.output_gradients + buffers.input_gradients;
  bytes.scratch = buffers.scratch;
  if (parameters.reduction) bytes.reduction = parameters.reduction(arena);
  return bytes;
}

}  // namespace penstock
