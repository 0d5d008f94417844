#pragma once

#include <filesystem>
#include <string>

#include "partition/planner/report/plan_view.h"

namespace penstock::partition {

/// Returns the plan as one self-contained HTML page: timeline, memory over time, placement, traffic
/// and tables. The page's own script draws them from the data in the page.
std::string report(const PlanView& view);

/// Writes the report atomically. Throws ConfigError if it cannot be written.
void write_report(const std::filesystem::path& file, const PlanView& view);

}  // namespace penstock::partition
