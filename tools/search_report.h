#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/plan_on_cluster.h"

namespace penstock::tools {

/// Seconds of a step of each of a plan's ranked placements; empty: none was measured.
using Measured = std::vector<double>;

/// The place of the fastest, as measured or else as predicted.
std::size_t fastest(const runtime::ClusterPlan& planned, const Measured& measured);

/// One JSON object on standard output, or a table of what was predicted and what was measured.
void print_search_json(const runtime::ClusterPlan& planned, const Measured& measured,
                       bool time_limit_reached);
void print_search(const runtime::ClusterPlan& planned, const Measured& measured);

}  // namespace penstock::tools
