#include "layers/models/lora.h"

#include <utility>

#include "layers/nn/inner_layer.h"
#include "layers/nn/residual.h"

// Linear layers are found by their type: in the model's sequence, and among the parts of its
// residual units. A layer that multiplies several parts of each row is no candidate. Adapters come
// before learning rates of their own, whose wrappers would hide the types.

namespace penstock::layers {
namespace {

const Linear* adaptable(const Layer& layer) {
  const auto* const linear = dynamic_cast<const Linear*>(&layer);
  return linear != nullptr && linear->options().parts == 1 ? linear : nullptr;
}

void list_adaptable(const Layer& layer, std::vector<std::string>& names) {
  if (adaptable(layer) != nullptr) names.push_back(layer.name());
  if (const auto* const unit = dynamic_cast<const Residual*>(&layer))
    for (const auto& part : unit->sequence()) list_adaptable(*part, names);
  if (const auto* const holder = dynamic_cast<const HoldsLayers*>(&layer))
    for (const InnerLayer* const inner : holder->inner()) list_adaptable(inner->layer(), names);
}

}  // namespace

void adapt_layers(std::span<std::unique_ptr<Layer>> layers, const LoraOptions& options,
                  const std::function<bool(const std::string& name)>& chosen) {
  const auto adapt = [&](std::unique_ptr<Layer> layer) -> std::unique_ptr<Layer> {
    const Linear* const linear = adaptable(*layer);
    if (linear == nullptr || !chosen(linear->name())) return layer;
    return std::make_unique<LoraLinear>(*linear, options);
  };
  for (std::unique_ptr<Layer>& layer : layers) {
    layer = adapt(std::move(layer));
    if (auto* const unit = dynamic_cast<Residual*>(layer.get()))
      unit->replace_parts(
          [&](std::unique_ptr<Layer> part, std::size_t) { return adapt(std::move(part)); });
    if (auto* const holder = dynamic_cast<HoldsLayers*>(layer.get()))
      for (InnerLayer* const inner : holder->inner())
        adapt_layers({&inner->replaceable(), 1}, options, chosen);
  }
}

std::vector<std::string> adaptable_layers(std::span<const std::unique_ptr<Layer>> layers) {
  std::vector<std::string> names;
  for (const std::unique_ptr<Layer>& layer : layers) list_adaptable(*layer, names);
  return names;
}

bool is_lora_parameter(std::string_view name) {
  return name.ends_with(kLoraA) || name.ends_with(kLoraB);
}

}  // namespace penstock::layers
