#pragma once

#include <vector>

#include "partition/planner/choose/tried_choices.h"

namespace penstock::partition {

/// Returns the best few of `alternatives` with found schedules. `alternatives` must be sorted by
/// pace. find_choice() runs for those that differ in devices, cut, layout of chunks or number of
/// micro-batches. When time is over, the result is empty, or has one entry if
/// problem.finds_only.
std::vector<Candidate> found_candidates(const PlanningProblem& problem, Workloads& workloads,
                                        const std::vector<Candidate>& candidates);

}  // namespace penstock::partition
