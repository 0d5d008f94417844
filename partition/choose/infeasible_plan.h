#pragma once

#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// Raises ConfigError for a problem of which no alternative fits into memory: which stage of the
/// one that lacks least lacks how much, and what would fit: with other stages and replicas, with
/// smaller micro-batches, or with more memory.
[[noreturn]] void throw_infeasible_plan(const PlanningProblem& problem,
                                        const std::vector<Alternative>& alternatives);

}  // namespace penstock::partition
