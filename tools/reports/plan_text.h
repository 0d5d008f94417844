#pragma once

#include <cstddef>
#include <iosfwd>

#include "partition/planner/report/plan_view.h"

namespace penstock::tools {

struct PlanLook {
  std::size_t columns = 80;
  bool colour = false;
};

/// Prints the plan for a terminal: its predicted step, stages, their memory by kind, a drawing of
/// the pipeline, candidates, facts, the gain of single changes, and the command that trains it.
void print_plan(const partition::PlanView& view, std::ostream& out, const PlanLook& look = {});

}  // namespace penstock::tools
