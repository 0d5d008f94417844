#pragma once

#include <cstddef>
#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// Raises ConfigError for a problem of which no alternative fits into memory: which stage of the
/// one that lacks least lacks how much, and what would fit: with other stages and replicas, with
/// smaller micro-batches, or with more memory. Where `untried` pairs of stages and replicas are
/// left that may fit, time was over: it says so, and not that nothing fits.
[[noreturn]] void throw_infeasible_plan(const PlanningProblem& problem,
                                        const std::vector<Alternative>& alternatives,
                                        std::size_t untried);

}  // namespace penstock::partition
