#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

/// The machines of a job, in the order of their first ranks.
struct RankNodes {
  std::vector<std::string> names = {};
  std::vector<int> of_rank = {};  // index of each rank's machine in `names`
};

/// Returns the machines of ranks that run on `machines`.
[[nodiscard]] RankNodes nodes_of(const std::vector<std::string>& machines);

/// Returns each rank's text, by rank, on all of them. All ranks call this together.
[[nodiscard]] std::vector<std::string> texts_of_ranks(comm::Communicator& ranks,
                                                      const std::string& own);

/// Returns the machines of these ranks, by machine_name(). All of them call this together.
[[nodiscard]] RankNodes nodes_of(comm::Communicator& ranks);

}  // namespace penstock::runtime
