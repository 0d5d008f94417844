#pragma once

#include <vector>

#include "partition/choose/tried_choices.h"

namespace penstock::partition {

/// The best few of `alternatives`, which are in the order of their paces, with lists and an order
/// of their own: find_choice() for those that differ in devices, cut, layout of chunks or number of
/// micro-batches. Where time is over there are none, or one if the problem finds only.
std::vector<Alternative> found_alternatives(const PlanningProblem& problem, Workloads& workloads,
                                            const std::vector<Alternative>& alternatives);

}  // namespace penstock::partition
