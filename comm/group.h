#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

struct GroupOptions {
  std::vector<int> ranks;  // ranks of the parent; entry i is the group's rank i
  /// Groups that share two ranks need different numbers. The parent itself is 0.
  int number = 1;
};

/// Makes a communicator of some ranks of another one: the replicas of a stage, or the stages of a
/// replica. `parent` must outlive it, and abort() ends all of the parent's ranks. CommError if this
/// rank is not among `ranks`, or if `ranks` are not distinct ranks of the parent.
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& parent,
                                                       const GroupOptions& options);

}  // namespace penstock::comm
