#pragma once

#include "partition/search/find_schedule.h"

namespace penstock::partition {

/// A pipeline of equal ranks and equal micro-batches.
struct EqualWork {
  int stages = 1, micro_batches = 1;
  ChunkTimes of_rank = {1, 1, 1};  // seconds of a micro-batch on a rank; chunks share them evenly
  /// What a rank may hold, in micro-batches on all of its chunks; 0: as 1F1B, `stages`.
  double memory = 0;
};

/// What each of a rank's chunks takes.
ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule);

/// The best that find_schedule finds with one chunk a rank, with two that go down the ranks and up
/// again, with two that go round, and with as many as a named schedule has that fits; the bound
/// holds for all of them.
FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options = {});

}  // namespace penstock::partition
