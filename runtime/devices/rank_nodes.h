#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

/// The machines of a job, in the order of their first ranks.
struct RankNodes {
  std::vector<std::string> names = {};
  std::vector<int> of_rank = {};  // the place of each rank's machine in `names`
};

/// Of ranks that run on these machines.
[[nodiscard]] RankNodes nodes_of(const std::vector<std::string>& machines);

/// Each rank's text, by rank, on all of them. Every rank calls it.
[[nodiscard]] std::vector<std::string> texts_of_ranks(comm::Communicator& ranks,
                                                      const std::string& own);

/// Of these ranks by machine_name(). Every one of them calls it.
[[nodiscard]] RankNodes nodes_of(comm::Communicator& ranks);

}  // namespace penstock::runtime
