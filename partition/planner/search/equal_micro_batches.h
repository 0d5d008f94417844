#pragma once

#include "partition/planner/search/find_schedule.h"

namespace penstock::partition {

/// EqualWork is a pipeline of equal ranks with equal micro-batches.
struct EqualWork {
  int stages = 1, micro_batches = 1;
  /// Seconds of a micro-batch on a rank, which its chunks share evenly.
  ChunkTimes of_rank = {1, 1, 1};
  /// The memory of a rank, in micro-batches on all of its chunks. 0 means that of 1F1B, which is
  /// `stages`.
  double memory = 0;
};

/// Returns the seconds of one chunk, if `schedule` says how many chunks a rank has.
ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule);

/// Returns the best schedule that find_schedule() finds over several chunk placements. These are
/// one chunk per rank, two down the ranks and up again, two round, and those of any other named
/// schedule that fits. The bound holds for all of them.
FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options = {});

}  // namespace penstock::partition
