#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/plan.h"

namespace penstock::tools {

/// Seconds per step of each of a plan's ranked placements; empty if none was measured.
using Measured = std::vector<double>;

/// Returns the index of the fastest placement, as measured, or else as predicted.
std::size_t fastest(const runtime::ClusterPlan& planned, const Measured& measured);

/// Prints predicted and measured times to standard output, as one JSON object or as a table.
void print_search_json(const runtime::ClusterPlan& planned, const Measured& measured,
                       bool time_limit_reached);
void print_search(const runtime::ClusterPlan& planned, const Measured& measured);

}  // namespace penstock::tools
