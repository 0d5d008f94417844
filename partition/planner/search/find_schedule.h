#pragma once

#include <cstdint>
#include <vector>

#include "partition/planner/search/problem.h"

namespace penstock::partition {

/// Options of find_schedule().
struct SearchOptions {
  std::uint64_t seed = 1;
  std::int64_t effort = 10'000'000;  // approximate number of turns to estimate: less than a second
  bool keep_order = false;           // keep the given order of micro-batches
};

/// The result of find_schedule().
struct FoundSchedule {
  Schedule schedule;       // named "found"; micro-batch i is the problem's order[i]
  std::size_t way = 0;     // index of the problem that it solves
  std::vector<int> order;  // the step's canonical order
  double makespan = 0;     // simulated, in seconds
  double lower_bound = 0;

  /// Returns the relative distance to the lower bound. 0 proves that the schedule is optimal.
  double gap() const { return makespan / lower_bound - 1; }
};

/// Finds a schedule for the real costs of a step's micro-batches: their order, and the order of
/// passes on each rank, with split backward. The makespan is short, and no rank holds more than
/// problem.memory.
///
/// The search starts from every named schedule that fits and has the same chunks on the same ranks.
/// So the result is never worse than the best of them. Simulated annealing improves it. The result
/// is deterministic for the same problem and options. Throws ConfigError if the memory cannot hold
/// a single micro-batch.
FoundSchedule find_schedule(const ScheduleProblem& problem, const SearchOptions& options = {});

/// Returns the best schedule over several problems, which divide the same step into one chunk per
/// rank or into several. So it is never worse than a named schedule of any of them that fits, and
/// the bound holds for all. The effort is spent on each problem. A problem whose bound is not below
/// the best makespan so far is left out.
FoundSchedule find_schedule(const std::vector<ScheduleProblem>& ways,
                            const SearchOptions& options = {});

/// EqualWork is a pipeline of equal ranks with equal micro-batches.
struct EqualWork {
  int stages = 1, micro_batches = 1;
  /// Seconds of a micro-batch on a rank, which its chunks share evenly.
  ChunkTimes of_rank = {1, 1, 1};
  /// The memory of a rank, in micro-batches on all of its chunks. 0 means that of 1F1B, which is
  /// `stages`.
  double memory = 0;
};

/// Returns the seconds of one chunk, if each rank has as many chunks as in `schedule`.
ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule);

/// Returns the best schedule that find_schedule() finds over several chunk placements. These are
/// one chunk per rank; two, which go down the ranks and up again; two, which go down twice; and
/// those of any other named schedule that fits. The bound holds for all of them.
FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options = {});

}  // namespace penstock::partition
