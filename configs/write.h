#pragma once

#include <span>
#include <string>

#include "configs/config.h"

namespace penstock::configs {

/// Every key with its type, default and meaning, in Markdown: docs/configuration.md. Of several
/// families each has a table of its own keys.
[[nodiscard]] std::string config_reference(std::span<const layers::ModelFamily> families);

}  // namespace penstock::configs
