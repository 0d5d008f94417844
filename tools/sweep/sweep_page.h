#pragma once

#include <string>

#include "tools/sweep/sweep_outcome.h"

namespace penstock::tools {

/// Returns one HTML page on a sweep, which needs nothing but itself: parallel coordinates of its
/// runs, and their table. It has the style of `penstock report`.
[[nodiscard]] std::string sweep_page(const SweepOutcome& outcome);

}  // namespace penstock::tools
