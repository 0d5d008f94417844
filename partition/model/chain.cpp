#include "partition/model/chain.h"

#include <utility>

namespace penstock {

ActivationDecl chain_input(const Chain& chain, std::span<const std::int64_t> lengths,
                           const BackendSizes& sizes) {
  return {sizes.compute, {{{lengths.begin(), lengths.end()}, chain.features}}};
}

std::vector<LayerPlan> plan_chain(const Chain& chain, std::span<const std::int64_t> lengths,
                                  const BackendSizes& sizes) {
  ActivationDecl input = chain_input(chain, lengths, sizes);
  std::vector<LayerPlan> plans;
  for (const auto& layer : chain.layers) {
    plans.push_back(layer->plan(input, sizes));
    input = plans.back().output;
  }
  return plans;
}

std::vector<std::int64_t> output_frames(const Chain& chain, std::span<const std::int64_t> lengths) {
  ActivationDecl input = chain_input(chain, lengths, {});
  for (const auto& layer : chain.layers) {
    LayerPlan plan = layer->plan(input, {});
    if (plan.needs_targets) break;
    input = std::move(plan.output);
  }
  return input.only().lengths;
}

}  // namespace penstock
