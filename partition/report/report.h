#pragma once

#include <filesystem>
#include <string>

#include "partition/report/plan_view.h"

namespace penstock::partition {

/// The plan as one HTML page that needs nothing else: timeline, memory over time, placement,
/// traffic and tables, rendered by the page's own script from the data in it.
std::string report(const PlanView& view);

/// Whole or not at all. ConfigError if it can't be written.
void write_report(const std::filesystem::path& file, const PlanView& view);

}  // namespace penstock::partition
