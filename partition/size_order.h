#pragma once

#include <vector>

namespace penstock {

/// An order names for each place which micro-batch it has, 0 being the longest. Micro-batches are
/// dealt to replicas in turns, the longest first, so that the c-th longest of a replica is among
/// the replicas · c-th to the replicas · (c + 1) − 1-st longest of the step: exact where each
/// replica has one lane, close where it has several.

/// What a step's order is to a replica with `own` micro-batches. Empty where the order is.
std::vector<int> order_of_replica(const std::vector<int>& order, int replicas, int own);

/// An order of a step of so many micro-batches in which every replica has its own in that order.
std::vector<int> order_of_step(const std::vector<int>& of_replica, int replicas, int micro_batches);

}  // namespace penstock
