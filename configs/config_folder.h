#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::configs {

/// The folder with models/ and recipes/: $PENSTOCK_CONFIGS, else the one of the build's sources.
[[nodiscard]] std::filesystem::path config_folder();

/// The TOML files of one of its folders, "models" or "clusters", without their ending, sorted.
[[nodiscard]] std::vector<std::string> names_in_config_folder(const char* subfolder);

}  // namespace penstock::configs
