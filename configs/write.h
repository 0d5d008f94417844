#pragma once

#include <string>

#include "configs/config.h"

namespace penstock {

/// Every key with its type, default and meaning, in Markdown: docs/configuration.md.
std::string config_reference();

}  // namespace penstock
