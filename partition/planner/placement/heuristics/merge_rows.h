#pragma once

#include <optional>

#include "base/time_limit.h"
#include "partition/planner/placement/placed_cut.h"

namespace penstock::partition {

/// Returns a placement and cut with a good bottleneck, below `below` seconds; nothing if none is
/// found. The number of replicas is given, that of stages is free.
///
/// Devices stand in two rows, the fastest and the others. Each stage takes the next devices of
/// either row; it may skip the rest of a node first. Several orders of the rows are tried
/// (row_orders). For a limit on loads, a dynamic programme runs from the end of the layer sequence.
/// Its state is (first layer, devices used of the shorter row, the row of this stage and the place
/// of the one before it). It keeps the way that uses the fewest devices of the longer row. A limit
/// takes O(layers · devices of the shorter row · layers of a stage); min_limit() finds the least
/// one. The result is no bound: other ways may use nodes better, or in another order.
std::optional<PlacedCut> merge_rows(const PlacementProblem& problem, int replicas, double below,
                                    const TimeLimit* time = nullptr);

/// Returns the approximate number of steps for one limit: ranges of layers that a stage may hold,
/// times stages of the shorter row, times orders of rows.
double merging_effort(const PlacementProblem& problem, int replicas);

}  // namespace penstock::partition
