#pragma once

#include <vector>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// An order gives, for each place of a step, the micro-batch at this place, numbered by size from
/// 0, the longest. Micro-batches are dealt to replicas in rounds, longest first. So micro-batch c
/// of a replica, by size, is one of replicas * c to replicas * (c + 1) - 1 of the step. This is
/// exact if each replica has one lane, and close otherwise.

/// Returns a replica's part of a step's order, for a replica with `own` micro-batches. It is empty
/// if `order` is empty.
std::vector<int> order_of_replica(const std::vector<int>& order, int replicas, int own);

/// Returns the times at each place of a replica's order `sizes`. If `sizes` is empty, any
/// micro-batch may be at any place, and each place gets the mean.
std::vector<ChunkTimes> in_order(const std::vector<ChunkTimes>& by_size,
                                 const std::vector<int>& sizes);

/// Returns the order of a step in which every replica has its own micro-batches in the order
/// `of_replica`.
std::vector<int> order_of_step(const std::vector<int>& of_replica, int replicas, int micro_batches);

}  // namespace penstock::partition
