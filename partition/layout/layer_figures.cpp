#include "partition/layout/layer_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "partition/layout/saved_tensors.h"

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;

/// Returns the numbers of a plan on which its costs depend. Names are left out, as they differ
/// between layers that are otherwise equal.
std::string declared(const layers::LayerPlan& plan) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {}|", static_cast<int>(plan.work), plan.flops.forward,
                  plan.flops.backward_input, plan.flops.backward_weight, plan.sums,
                  plan.runs_backward(), plan.workspace.forward);
  for (const layers::FramesDecl& frames : plan.output.frames)
    text += fmt::format("{};", frames.channels);
  for (const layers::ParamDecl& param : plan.params)
    text += fmt::format("{} {} {} {};", fmt::join(param.shape, " "), param.full_precision,
                        param.frozen(), param.summed);
  for (const layers::SavedDecl& saved : plan.saved)
    text += fmt::format("{} {} {};", static_cast<int>(saved.kind), static_cast<int>(saved.dtype),
                        fmt::join(saved.shape, " "));
  return text;
}

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
      if (!p.tied()) layer.parameters += layers::element_count(p.shape);
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

std::vector<std::string> declared_layers(const LayerSequence& sequence,
                                         const layers::BackendSizes& sizes) {
  // Layers that differ are unlikely to agree at two unequal lengths by accident.
  const std::int64_t min = min_frames(sequence);
  const std::array<std::int64_t, 2> lengths{accepted_frames(sequence, 5 * min + 811),
                                            accepted_frames(sequence, 3 * min + 397)};
  std::vector<std::string> texts;
  std::string input;  // shapes that enter the layer, which its plan lacks
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, sizes)) {
    texts.push_back(input + declared(plan));
    input.clear();
    for (const layers::FramesDecl& frames : plan.output.frames)
      input += fmt::format("{} ", fmt::join(frames.shape(), " "));
  }
  return texts;
}

std::vector<int> layer_kinds(const LayerSequence& sequence, const layers::BackendSizes& sizes) {
  std::map<std::string, int> numbers;
  std::vector<int> kinds;
  for (const std::string& layer : declared_layers(sequence, sizes))
    kinds.push_back(numbers.try_emplace(layer, static_cast<int>(numbers.size())).first->second);
  return kinds;
}

}  // namespace penstock::partition
