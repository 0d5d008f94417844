#pragma once

#include <span>
#include <string>
#include <string_view>

#include "configs/config.h"

namespace penstock::configs {

/// Returns every key with its type, default and meaning, in Markdown: docs/configuration.md. If
/// there are several families, each has a table of its own keys.
[[nodiscard]] std::string config_reference(std::span<const layers::ModelFamily> families);

/// Returns keys with their values as TOML for a recipe. `names` are sections ("model") and single
/// keys ("trainer.init"). model.base is left out, since the keys that it sets are written
/// themselves.
[[nodiscard]] std::string recipe_text(const Config& config,
                                      std::span<const std::string_view> names);

}  // namespace penstock::configs
