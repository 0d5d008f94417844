#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::configs {

/// Returns the folder with models/ and recipes/: $PENSTOCK_CONFIGS if set, else the one in the
/// source tree of the build.
[[nodiscard]] std::filesystem::path config_folder();

/// Returns the names of the TOML files in one of its folders, such as "models", without the ending
/// and sorted.
[[nodiscard]] std::vector<std::string> names_in_config_folder(const char* subfolder);

}  // namespace penstock::configs
