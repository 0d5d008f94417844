#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>

namespace penstock::configs {

/// The keys that a configuration file (none if empty) and overrides give a value, whatever it is:
/// those that they do not name are free. Faults are load_config()'s to say.
[[nodiscard]] std::set<std::string> named_keys(const std::filesystem::path& file,
                                               std::span<const std::string> overrides = {});

}  // namespace penstock::configs
