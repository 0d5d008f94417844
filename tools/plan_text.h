#pragma once

#include <iosfwd>

#include "partition/report/plan_view.h"

namespace penstock::tools {

/// The plan for a terminal: what comes of it, stages, their memory by kind, the pipeline sampled,
/// alternatives, facts, and what single changes would bring.
void print_plan(const partition::PlanView& view, std::ostream& out, bool colour = false);

}  // namespace penstock::tools
