#include "partition/model/layer_sequence.h"

#include <utility>

namespace penstock::partition {

layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes) {
  return {sizes.compute, {{{lengths.begin(), lengths.end()}, sequence.features}}};
}

std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes);
  std::vector<layers::LayerPlan> plans;
  for (const auto& layer : sequence.layers) {
    plans.push_back(layer->plan(input, sizes));
    input = plans.back().output;
  }
  return plans;
}

std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, {});
  for (const auto& layer : sequence.layers) {
    layers::LayerPlan plan = layer->plan(input, {});
    if (plan.needs_targets) break;
    input = std::move(plan.output);
  }
  return input.only().lengths;
}

}  // namespace penstock::partition
