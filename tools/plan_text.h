#pragma once

#include <iosfwd>

#include "partition/report/plan_view.h"

namespace penstock::tools {

/// The plan for a terminal: stages, their memory by kind, the pipeline sampled, alternatives,
/// facts.
void print_plan(const partition::PlanView& view, std::ostream& out);

}  // namespace penstock::tools
