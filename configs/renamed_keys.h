#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/flatten.h"

namespace penstock::configs {

/// The name that a key has now. Recipes, overrides and checkpoints of earlier versions are read
/// under the names that their keys had then.
[[nodiscard]] std::string current_name(std::string_view key);

/// A line for each key that a configuration file (none if empty) or overrides give under an earlier
/// name: "recipe.toml:12: schedule.floor is now lr_schedule.min_lr".
[[nodiscard]] std::vector<std::string> renaming_notes(const std::filesystem::path& file,
                                                      std::span<const std::string> overrides = {});

/// The same line for each such key of a checkpoint, whose folder `where` names.
[[nodiscard]] std::vector<std::string> renaming_notes(const FlatConfig& config,
                                                      const std::string& where);

}  // namespace penstock::configs
