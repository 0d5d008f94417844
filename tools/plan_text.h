#pragma once

#include <cstddef>
#include <iosfwd>

#include "partition/report/plan_view.h"

namespace penstock::tools {

struct PlanLook {
  std::size_t columns = 80;
  bool colour = false;
};

/// The plan for a terminal: what comes of it, stages, their memory by kind, the pipeline sampled,
/// alternatives, facts, what single changes would bring, and the command that trains it.
void print_plan(const partition::PlanView& view, std::ostream& out, const PlanLook& look = {});

}  // namespace penstock::tools
