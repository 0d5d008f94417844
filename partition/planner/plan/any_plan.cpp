#include "partition/planner/plan/any_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "partition/planner/plan/file/plan_source.h"

namespace penstock::partition {

// Checks only what a table of the plan would index: the stage of each chunk, and a chunk for each
// stage. The layers' names need no model to be shown.
Plan parse_any_plan(const std::string& text, const std::string& name) {
  PlanSource source = plan_of_toml(text, name);
  const Plan& plan = source.plan;
  if (source.faults.empty()) {
    for (const ChunkPlan& chunk : plan.chunks)
      if (chunk.stage < 0 || chunk.stage >= plan.stages())
        source.fault(source.ranks_line, fmt::format("ranks has no row for stage {}", chunk.stage));
    for (int stage = 0; stage < plan.stages(); ++stage)
      if (std::ranges::count(plan.chunks, stage, &ChunkPlan::stage) == 0)
        source.fault(source.ranks_line, fmt::format("stage {} has no [[chunk]]", stage));
  }
  if (source.faults.empty()) return plan;
  throw ConfigError(fmt::format("the plan can't be used:\n  {}", fmt::join(source.faults, "\n  ")));
}

}  // namespace penstock::partition
