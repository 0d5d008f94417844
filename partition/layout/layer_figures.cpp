#include "partition/layout/layer_figures.h"

#include <algorithm>

#include "partition/layout/saved_tensors.h"

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;

}  // namespace

std::vector<LayerFigures> layer_figures(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths,
                                        const layers::BackendSizes& sizes) {
  const std::vector<layers::LayerPlan> plans = plan_layers(sequence, lengths, sizes);
  std::size_t input = layers::aligned(sequence_input(sequence, lengths, sizes).bytes());
  std::vector<LayerFigures> figures;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const layers::LayerPlan& plan = plans[i];
    LayerFigures& layer = figures.emplace_back();
    layer.name = sequence.layers[i]->name();
    for (const layers::ParamDecl& p : plan.params)
      layer.parameters += layers::element_count(p.shape);
    layer.flops = plan.flops;
    if (i == 0) layer.flops.backward_input = 0;  // nothing needs the gradient of the features
    // An activation is kept once, even if both neighbouring layers need it.
    const bool kept = keeps(plan, Kind::input) || (i > 0 && keeps(plans[i - 1], Kind::output));
    layer.kept = bytes_saved_by_forward(plan) + (kept ? input : 0);
    layer.scratch = std::max(
        {plan.workspace.forward, plan.workspace.backward_input, plan.workspace.backward_weight});
    input = layers::aligned(plan.output.bytes());
  }
  return figures;
}

LayerFigures total_of(const std::vector<LayerFigures>& layers) {
  LayerFigures total;
  for (const LayerFigures& layer : layers) {
    total.parameters += layer.parameters;
    total.flops.forward += layer.flops.forward;
    total.flops.backward_input += layer.flops.backward_input;
    total.flops.backward_weight += layer.flops.backward_weight;
    total.kept += layer.kept;
    total.scratch = std::max(total.scratch, layer.scratch);
  }
  return total;
}

}  // namespace penstock::partition
