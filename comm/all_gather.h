#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// Parts of memory that lies alike on all ranks of a group: `parts[r]` are those of rank r, as many
/// of any size, 0 too, as rank r has on every rank. Parts that are neighbours in memory are so on
/// all ranks.
using RankParts = std::vector<std::vector<std::span<std::byte>>>;

/// Sends every rank's own parts to all others, to the same places, in gather_rounds(): where parts
/// of a number follow each other by bit_reversed(), 2^k ranks send k messages for it. Every rank of
/// the group calls it; it returns when all parts are here and own ones have left, and moves other
/// messages meanwhile. ShapeError if there are not parts for each rank; CommError as from the
/// communicator.
void all_gather(Communicator& group, const RankParts& parts);

}  // namespace penstock::comm
