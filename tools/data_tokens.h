#pragma once

#include "tools/commands.h"

namespace penstock::tools {

/// Adds `penstock data tokens` to `data`.
void add_data_tokens(CLI::App& data, Run& run);

}  // namespace penstock::tools
