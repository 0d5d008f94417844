#pragma once

#include "tools/commands/commands.h"

namespace penstock::tools {

/// Adds `penstock data alphabet`, which prints the [text] that fits the transcripts of manifests.
void add_data_alphabet(CLI::App& data, Run& run);

}  // namespace penstock::tools
