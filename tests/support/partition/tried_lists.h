#pragma once

#include <optional>
#include <vector>

#include "partition/planner/search/problem.h"

namespace penstock::test {

/// The shortest makespan of all lists of the problem that pass micro-batches in that order, if one
/// is shorter than `below`. All lists are tried, but for those that are no shorter than others
/// which have done the same, or can't be shorter than `below`. Passes start as soon as list and
/// messages allow; a receive is posted one pass ahead of what waits for it, as complete() does.
std::optional<double> shortest_lists(const partition::ScheduleProblem& problem,
                                     const std::vector<int>& order, double below);

/// The same of all orders.
std::optional<double> shortest_lists(const partition::ScheduleProblem& problem, double below);

}  // namespace penstock::test
