#pragma once

#include <span>
#include <string>
#include <string_view>

#include "configs/config.h"

namespace penstock::configs {

/// Every key with its type, default and meaning, in Markdown: docs/configuration.md. Of several
/// families each has a table of its own keys.
[[nodiscard]] std::string config_reference(std::span<const layers::ModelFamily> families);

/// Keys with their values, as TOML that a recipe can hold: `names` are sections ("model") and
/// single keys ("trainer.init"). Without model.base, whose keys stand there themselves.
[[nodiscard]] std::string recipe_text(const Config& config,
                                      std::span<const std::string_view> names);

}  // namespace penstock::configs
