#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "partition/layout/stage_bytes.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/plan_estimate.h"

namespace penstock::partition {

/// Formats the plan for a terminal of `columns` columns. It has a table of chunks with parameters,
/// time and layers, a table of memory by kind, and a line on the schedule.
[[nodiscard]] std::string plan_table(const Plan& plan, const PlanEstimate& estimate,
                                     std::size_t columns);

/// A stage's bytes of each kind, under the names of reports: "weights", "gradients".
using MemoryByKind = std::vector<std::pair<std::string, double>>;

[[nodiscard]] MemoryByKind by_kind(const StageBytes& bytes);

/// A row below the total, such as "limit", with one value in bytes per stage. Infinity means none.
struct MemoryRow {
  std::string name;
  std::vector<double> of_stages = {};
};

/// Formats a table with a column for each stage. It has a row for each kind that any stage uses,
/// their total, and the rows `below`. The unit is MiB if no stage uses a GiB or more.
[[nodiscard]] std::string memory_table(const std::vector<MemoryByKind>& stages,
                                       const std::vector<MemoryRow>& below, std::size_t columns);

}  // namespace penstock::partition
