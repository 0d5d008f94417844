#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "configs/source.h"

namespace penstock::configs {

// A recipe may include others by a key before its first section: include = "base.toml", or a list.

inline constexpr std::size_t kDeepestIncludes = 10;      // recipes that include each other in a row
inline constexpr std::size_t kMostIncludes = 100;        // recipes that one includes, all in all
inline constexpr std::size_t kLargestInclude = 1 << 20;  // bytes

/// Returns the settings of a recipe and of those that it includes, in the order of their force:
/// first those of the included recipes, in their order, then its own. `name` is the recipe's path,
/// from whose folder included paths start. `faults` receives, besides those of settings_of_toml(),
/// recipes that can't be included, each with the line and all recipes that lead to it.
[[nodiscard]] std::vector<Setting> settings_of_recipe(const std::string& text,
                                                      const std::string& name,
                                                      std::vector<std::string>& faults);

/// Returns the settings of a recipe file (none if empty), and after them those of "key=value"
/// arguments.
[[nodiscard]] std::vector<Setting> settings_of(const std::filesystem::path& file,
                                               std::span<const std::string> overrides,
                                               std::vector<std::string>& faults);

/// Returns the paths of the recipes that a recipe file includes, those in between too. Faults are
/// ignored here; load_config() reports them.
[[nodiscard]] std::vector<std::filesystem::path> included_recipes(
    const std::filesystem::path& file);

}  // namespace penstock::configs
