#pragma once

#include "partition/planner/placement/search.h"

namespace penstock::partition {

/// Throws ConfigError if there are too few layers or devices for the stages, or too few devices or
/// micro-batches for the replicas.
void check_constraints(const PlacementProblem& problem, const GridConstraints& constraints);

/// Throws ConfigError for a problem without a placement that fits into memory. The message names
/// the nearest numbers of stages and replicas that fit, or else the memory that would suffice. If
/// the time is over before that is known, the message says that.
[[noreturn]] void throw_infeasible_placement(const PlacementProblem& problem,
                                             const GridConstraints& constraints,
                                             const TimeLimit* time = nullptr);

}  // namespace penstock::partition
