#pragma once

#include "partition/planner/search/pattern.h"

namespace penstock::partition {

/// Returns a pattern in which every rank, once it is free, takes an input gradient, else a forward,
/// else a weight gradient. A forward must leave enough memory on its rank for the other chunks of
/// every older micro-batch, so that the oldest one can always proceed. So the pattern fits in any
/// memory that holds each micro-batch alone. Micro-batches are in `order`.
Pattern greedy(const ScheduleProblem& problem, std::vector<int> order);

}  // namespace penstock::partition
