#pragma once

#include "tools/commands/commands.h"

namespace penstock::tools {

/// Adds `penstock data tokens`, which trains a SentencePiece model on the transcripts of a
/// manifest.
void add_data_tokens(CLI::App& data, Run& run);

}  // namespace penstock::tools
