#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

struct GroupOptions {
  std::vector<int> ranks;  // of the parent; entry i is the group's rank i
  /// Groups that have two ranks in common need different numbers; the parent itself is 0.
  int number = 1;
};

/// Some ranks of another communicator as one of their own: the replicas of a stage, the stages of
/// a replica. `parent` must outlive it; abort() ends all of the parent's ranks. CommError where
/// this rank is not among `ranks`, or they are not distinct ranks of the parent.
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& parent,
                                                       const GroupOptions& options);

}  // namespace penstock::comm
