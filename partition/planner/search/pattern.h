#pragma once

#include <string>
#include <vector>

#include "partition/planner/search/problem.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A Turn is one pass of the next micro-batch through a chunk.
struct Turn {
  ActionKind kind = ActionKind::forward;  // forward, backward_input or backward_weight
  int chunk = 0;
};

/// A Pattern is what the search changes: the turns of each rank, and the micro-batch at each place.
/// The i-th turn of a kind on a chunk is that of place i. So all passes keep the order of places,
/// which is the canonical order of gradient sums.
struct Pattern {
  std::vector<std::vector<Turn>> ranks;
  std::vector<int> order;
};

/// Returns the turns of a schedule whose passes keep the order of micro-batches. A whole backward
/// becomes two turns.
Pattern pattern_of(const Schedule& schedule);

/// Returns the pattern that takes one micro-batch after another through all chunks.
Pattern one_by_one(const ScheduleProblem& problem);

/// Returns the complete action lists, with micro-batches numbered by place.
Schedule unfold(const Pattern& pattern, const std::vector<int>& chunk_rank, std::string name);

/// Returns the schedule's passes as lists called "found", with every backward split. A whole
/// backward becomes an input gradient followed at once by its weight gradient.
Schedule with_backward_in_parts(const Schedule& schedule);

}  // namespace penstock::partition
