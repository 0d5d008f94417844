#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/flatten.h"

namespace penstock::configs {

// These functions say which keys a recipe or a checkpoint names, and by which names.

/// Returns the keys to which a configuration file (none if empty) or the overrides give a value. A
/// planner may choose the others. Faults are ignored here; load_config() reports them.
[[nodiscard]] std::set<std::string> named_keys(const std::filesystem::path& file,
                                               std::span<const std::string> overrides = {});

/// Returns the present name of a key. Recipes, overrides and checkpoints of earlier versions may
/// use the name that the key had then.
[[nodiscard]] std::string current_name(std::string_view key);

/// Returns a line for each key that a configuration file (none if empty) or the overrides give by
/// an earlier name: "recipe.toml:12: schedule.floor is now lr_schedule.min_lr".
[[nodiscard]] std::vector<std::string> renaming_notes(const std::filesystem::path& file,
                                                      std::span<const std::string> overrides = {});

/// Returns the same lines for the keys of a checkpoint, whose folder `where` names.
[[nodiscard]] std::vector<std::string> renaming_notes(const FlatConfig& config,
                                                      const std::string& where);

}  // namespace penstock::configs
