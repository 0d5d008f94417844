#pragma once

#include <string>

#include "tools/reports/training/judged_results.h"

namespace penstock::tools {

/// Returns an evaluation as HTML: its error rates, those of each manifest and of the values of each
/// field, and the worst utterances with their recordings. A recording that can't be read has a
/// sentence in its place, and so have the worst utterances if there is no error.
[[nodiscard]] std::string results_html(const JudgedResults& results);

}  // namespace penstock::tools
