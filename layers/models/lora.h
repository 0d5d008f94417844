#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/layer.h"
#include "layers/nn/lora_linear.h"

namespace penstock::layers {

/// Returns the names of the linear layers that can be adapted, also of those within residual units.
[[nodiscard]] std::vector<std::string> adaptable_layers(
    std::span<const std::unique_ptr<Layer>> layers);

/// Replaces the linear layers that `chosen` accepts by name by adapted ones.
void adapt_layers(std::span<std::unique_ptr<Layer>> layers, const LoraOptions& options,
                  const std::function<bool(const std::string& name)>& chosen);

/// Returns true for the name of a parameter that an adapter adds to its layer.
[[nodiscard]] bool is_lora_parameter(std::string_view name);

}  // namespace penstock::layers
