#pragma once

#include <cstddef>
#include <vector>

#include "partition/planner/choose/decide.h"

namespace penstock::partition {

/// Throws ConfigError for a problem with no alternative that fits into memory. The message names
/// the fullest stage of the alternative that comes closest, and the memory that it needs. It also
/// says what would fit: with other stages and replicas, with smaller micro-batches, or with more
/// memory. If `untried` is positive, time ended the search before that many candidates were tried.
/// The message then says so, and not that nothing fits.
[[noreturn]] void throw_infeasible_plan(const PlanningProblem& problem,
                                        const std::vector<Candidate>& candidates,
                                        std::size_t untried);

}  // namespace penstock::partition
