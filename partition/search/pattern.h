#pragma once

#include <string>
#include <vector>

#include "partition/schedule/schedule.h"
#include "partition/search/problem.h"

namespace penstock::partition {

/// A pass of the next micro-batch through a chunk.
struct Turn {
  ActionKind kind = ActionKind::forward;  // or backward_input, backward_weight
  int chunk = 0;
};

/// What a search changes: each rank's turns, and the micro-batch at each place. The i-th turn of a
/// kind on a chunk is that of place i: all passes keep the order of places, which is the
/// canonical one.
struct Pattern {
  std::vector<std::vector<Turn>> ranks;
  std::vector<int> order;
};

/// Turns of a schedule whose passes keep the order of micro-batches; both gradients at once are
/// two turns.
Pattern pattern_of(const Schedule& schedule);

/// Micro-batch after micro-batch through everything.
Pattern one_by_one(const ScheduleProblem& problem);

/// The action lists, with micro-batches numbered by place.
Schedule unfold(const Pattern& pattern, const std::vector<int>& chunk_rank, std::string name);

/// The schedule's passes as lists that are "found": with backward in two parts, each weight
/// gradient right behind its input gradient where they were one.
Schedule with_backward_in_parts(const Schedule& schedule);

}  // namespace penstock::partition
