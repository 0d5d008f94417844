#pragma once

#include <filesystem>

namespace penstock::configs {

/// The folder with models/ and recipes/: $PENSTOCK_CONFIGS, else the one of the build's sources.
std::filesystem::path config_folder();

}  // namespace penstock::configs
