#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

// Every rank of the communicator calls these, in the same order. They return when this rank's part
// is done, and move other messages meanwhile. CommError as from the communicator.

/// Returns when every rank has called it.
void barrier(Communicator&);

/// `data` of rank `root` to all; the sizes agree.
void broadcast(Communicator&, std::span<std::byte> data, int root = 0);

/// The text of rank `root`, whose length the others need not know.
std::string broadcast(Communicator&, const std::string& text, int root = 0);

/// On rank 0 every rank's text, by rank; elsewhere nothing.
std::vector<std::string> gather(Communicator&, std::string_view text);

/// Adds entry by entry over the ranks and leaves the sums on all. Each entry must be non-zero on at
/// most one rank: then nothing is rounded and no order of the additions shows. Zeros become +0.
void sum_disjoint(Communicator&, std::span<double> values);

}  // namespace penstock::comm
