#pragma once

#include "partition/search/pattern.h"

namespace penstock::partition {

/// Every rank, once free, takes what is there: an input gradient, else a forward, else a weight
/// gradient. A forward must leave room on its rank for the other chunks of every micro-batch ahead
/// of it, so that the oldest one always goes on: there is a pattern within any memory that holds
/// each micro-batch alone. Micro-batches are in `order`.
Pattern greedy(const ScheduleProblem& problem, std::vector<int> order);

}  // namespace penstock::partition
