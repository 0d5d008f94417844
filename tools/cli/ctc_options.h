#pragma once

#include "runtime/decoding/ctc_decoding.h"

namespace CLI {
class App;
}

namespace penstock::tools {

/// Adds what the beam search of CTC searches by: --label-floor, --score-range, --lm,
/// --lm-weight, --word-score, --unknown-score. `decoding` must outlive the command.
void takes_ctc_decoding(CLI::App* command, runtime::CtcDecoding& decoding);

}  // namespace penstock::tools
