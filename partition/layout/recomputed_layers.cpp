#include "partition/layout/recomputed_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/name_match.h"

namespace penstock::partition {
namespace {

std::string unknown_layer(const std::string& name, std::span<const std::string> names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = nearest(name, known);
  return fmt::format("pipeline.recompute_layers names {}, which is no layer of the model: {}", name,
                     near.empty() ? fmt::format("its layers are {}", fmt::join(names, ", "))
                                  : fmt::format("did you mean {}?", near));
}

}  // namespace

ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               std::span<const std::string> names) {
  // Whole layers may be named in two modes: alone, and with residual units that recompute their
  // cheap parts.
  const bool named = pipeline.recompute == kSelective || pipeline.recompute == "layers";
  if (pipeline.recompute == "none" || (named && pipeline.recompute_layers.empty())) return {};
  ChosenLayers chosen(names.size(), pipeline.recompute == "stage");
  if (pipeline.recompute == "stage") return chosen;
  std::vector<std::string> faults;
  for (const std::string& name : pipeline.recompute_layers) {
    const auto at = std::ranges::find(names, name) - names.begin();
    if (at == std::ssize(names))
      faults.push_back(unknown_layer(name, names));
    else if (chosen[at])
      faults.push_back(
          fmt::format("pipeline.recompute_layers names {} twice: leave one out", name));
    else
      chosen[at] = true;
  }
  if (!faults.empty()) throw ConfigError(fmt::format("{}", fmt::join(faults, "\n")));
  return chosen;
}

ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               const LayerSequence& sequence) {
  return recomputed_layers(pipeline, names_of(sequence));
}

std::vector<std::string> names_of(const LayerSequence& sequence) {
  std::vector<std::string> names;
  for (const auto& layer : sequence.layers) names.push_back(layer->name());
  return names;
}

// All layers chosen is what "stage" means, so the recipe needs no list of them.
void set_recomputation(configs::PipelineConfig& pipeline, const Recomputation& chosen,
                       std::span<const std::string> names) {
  const auto count = std::ranges::count(chosen.layers, true);
  const bool all = count > 0 && count == std::ssize(chosen.layers);
  pipeline.recompute = chosen.within ? kSelective : all ? "stage" : count > 0 ? "layers" : "none";
  pipeline.recompute_layers.clear();
  if (count == 0 || pipeline.recompute == "stage") return;
  for (std::size_t layer = 0; layer < names.size(); ++layer)
    if (chosen.layers[layer]) pipeline.recompute_layers.push_back(names[layer]);
}

}  // namespace penstock::partition
