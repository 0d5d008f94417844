#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// Parts of memory that has the same layout on all ranks of a group. `parts[r]` are the parts of
/// rank r. Their number and sizes, which may be 0, agree on all ranks. Parts that are adjacent in
/// memory are adjacent on all ranks.
using RankParts = std::vector<std::vector<std::span<std::byte>>>;

/// Sends every rank's own parts to all other ranks, at the same places, in gather_rounds().
/// Adjacent parts travel as one message: if the parts with one index lie in memory in the order of
/// bit_reversed(), each of 2^k ranks sends k messages for that index. Every rank of the group calls
/// it. It returns when all parts are here and this rank's own parts have left, and it moves other
/// messages meanwhile. ShapeError if `parts` has not one entry per rank; CommError as from the
/// communicator.
void all_gather(Communicator& group, const RankParts& parts);

}  // namespace penstock::comm
