#include "partition/model/layer_sequence.h"

#include <utility>

namespace penstock {

ActivationDecl sequence_input(const LayerSequence& sequence, std::span<const std::int64_t> lengths,
                              const BackendSizes& sizes) {
  return {sizes.compute, {{{lengths.begin(), lengths.end()}, sequence.features}}};
}

std::vector<LayerPlan> plan_layers(const LayerSequence& sequence,
                                   std::span<const std::int64_t> lengths,
                                   const BackendSizes& sizes) {
  ActivationDecl input = sequence_input(sequence, lengths, sizes);
  std::vector<LayerPlan> plans;
  for (const auto& layer : sequence.layers) {
    plans.push_back(layer->plan(input, sizes));
    input = plans.back().output;
  }
  return plans;
}

std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths) {
  ActivationDecl input = sequence_input(sequence, lengths, {});
  for (const auto& layer : sequence.layers) {
    LayerPlan plan = layer->plan(input, {});
    if (plan.needs_targets) break;
    input = std::move(plan.output);
  }
  return input.only().lengths;
}

}  // namespace penstock
