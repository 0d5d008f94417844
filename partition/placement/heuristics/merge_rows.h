#pragma once

#include <optional>

#include "base/time_limit.h"
#include "partition/placement/placed_cut.h"

namespace penstock::partition {

/// A good placement with its cut for the bottleneck, of a pipeline with so many replicas and as
/// many stages as suit it, whose load is below `below` seconds; nothing where none is found.
///
/// Stages take their devices from two rows, the fastest and the others: each stage the next ones of
/// either row, which may leave out the rest of a node first. Rows stand in several orders
/// (row_orders). For a limit on loads a dynamic programme goes from the layer sequence's end over
/// (first layer, devices used of the shorter row, the place of the stage in front). It keeps the
/// way that has used least of the longer row, O(layers · devices of the shorter row · layers in a
/// stage). The least limit with which there is one is looked for (least_limit). No bound: another
/// way may stand better in its node, or take nodes in another order.
std::optional<PlacedCut> merge_rows(const PlacementProblem& problem, int replicas, double below,
                                    const TimeLimit* time = nullptr);

/// What a limit takes, about: ranges of layers that a stage may hold · stages of the shorter row.
double merging_effort(const PlacementProblem& problem, int replicas);

}  // namespace penstock::partition
