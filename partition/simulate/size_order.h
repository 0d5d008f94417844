#pragma once

#include <vector>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// An order names for each place which micro-batch it has, 0 being the longest. Micro-batches are
/// dealt to replicas in turns, the longest first, so that the c-th longest of a replica is among
/// the replicas · c-th to the replicas · (c + 1) − 1-st longest of the step: exact where each
/// replica has one lane, close where it has several.

/// What a step's order is to a replica with `own` micro-batches. Empty where the order is.
std::vector<int> order_of_replica(const std::vector<int>& order, int replicas, int own);

/// `by_size` in the order of a replica's places; where that is empty, and any micro-batch may stand
/// anywhere, the mean of all at every place.
std::vector<ChunkTimes> in_order(const std::vector<ChunkTimes>& by_size,
                                 const std::vector<int>& sizes);

/// An order of a step of so many micro-batches in which every replica has its own in that order.
std::vector<int> order_of_step(const std::vector<int>& of_replica, int replicas, int micro_batches);

}  // namespace penstock::partition
