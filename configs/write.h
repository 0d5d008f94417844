#pragma once

#include <string>

#include "configs/config.h"

namespace penstock {

/// The whole configuration as a TOML file that load_config() takes.
std::string config_toml(const Config& config);

/// Every key with its type, default and meaning, in Markdown: docs/configuration.md.
std::string config_reference();

}  // namespace penstock
