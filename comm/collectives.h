#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

// Every rank of the communicator calls these functions, in the same order. They return when this
// rank's part is done, and move other messages meanwhile. They raise CommError as the communicator
// does.

/// Returns when every rank has called it.
void barrier(Communicator&);

/// Copies `data` of rank `root` to all ranks. The sizes must agree.
void broadcast(Communicator&, std::span<std::byte> data, int root = 0);

/// Returns the text of rank `root` on every rank. The others need not know its length.
std::string broadcast(Communicator&, const std::string& text, int root = 0);

/// Returns every rank's text on rank 0, by rank, and nothing on the other ranks.
std::vector<std::string> gather(Communicator&, std::string_view text);

/// Adds the values of all ranks, entry by entry, and leaves the sums on all ranks. Each entry must
/// be non-zero on at most one rank: then nothing is rounded and the order of additions does not
/// matter. -0 becomes +0.
void sum_disjoint(Communicator&, std::span<double> values);

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
