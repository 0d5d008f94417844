#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>

namespace penstock::configs {

/// Returns the keys to which a configuration file (none if empty) or the overrides give a value. A
/// planner may choose the others. Faults are ignored here; load_config() reports them.
[[nodiscard]] std::set<std::string> named_keys(const std::filesystem::path& file,
                                               std::span<const std::string> overrides = {});

}  // namespace penstock::configs
