#pragma once

#include <optional>

#include "partition/placement/local_search.h"

namespace penstock {

/// A good placement with its cut for the bottleneck, of a pipeline with so many replicas and as
/// many stages as suit it, whose load is below `below` seconds; nothing where none is found.
///
/// Stages take their devices from two rows, the fastest and the others, node by node: each stage
/// the next ones of either row, which may leave out the rest of a node first. For a limit on loads
/// a dynamic programme goes from the chain's end over (first layer, devices used of the shorter
/// row, the stage in front's place) and keeps the way that has used least of the longer row,
/// O(layers · devices of the shorter row · layers in a stage). The limit is then halved in between.
/// No bound: another way may stand better in its node, or take nodes in another order.
std::optional<PlacedCut> merge_rows(const PlacementProblem& problem, int replicas, double below);

/// What that takes: layers · devices of the shorter row · layers in a stage, in places for
/// replicas.
double merging_effort(const PlacementProblem& problem, int replicas);

}  // namespace penstock
