#pragma once

#include <string>

#include "partition/planner/plan/plan.h"

namespace penstock::tools {

/// Returns the memory of a plan's stages as HTML: bars of the planned bytes by kind, one for each
/// stage. `limit` is what a rank may use in bytes; 0: no limit. Returns "" if the plan states no
/// bytes.
[[nodiscard]] std::string plan_memory_html(const partition::Plan& plan, double limit);

/// Returns a step of the plan's schedule as HTML: a row for each stage, with its passes over time.
/// A chunk's passes take its share of a micro-batch's computing, which the plan states: a forward
/// one third of it, a backward two, and messages no time. Without shares, all chunks take equal
/// times. A step of more than 3,000 passes, or of more than 64 stages, is not drawn, and a sentence
/// says so. ConfigError if the plan's schedule can't be made.
[[nodiscard]] std::string plan_timeline_html(const partition::Plan& plan);

}  // namespace penstock::tools
