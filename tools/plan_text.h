#pragma once

#include <iosfwd>

#include "partition/report/plan_view.h"

namespace penstock {

/// The plan for a terminal: stages, their memory by kind, the pipeline sampled, alternatives,
/// facts.
void print_plan(const PlanView& view, std::ostream& out);

}  // namespace penstock
