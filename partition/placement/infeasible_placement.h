#pragma once

#include "partition/placement/search.h"

namespace penstock::partition {

/// ConfigError unless there are layers for so many stages and devices for so many replicas of
/// them.
void check_constraints(const PlacementProblem& problem, const GridConstraints& constraints);

/// Raises ConfigError for a problem that nothing solves within its memory: the numbers of stages
/// and replicas nearest to those asked for that fit, or the memory that would suffice; where the
/// time is over before it is known, not that.
[[noreturn]] void throw_infeasible_placement(const PlacementProblem& problem,
                                             const GridConstraints& constraints,
                                             const TimeLimit* time = nullptr);

}  // namespace penstock::partition
