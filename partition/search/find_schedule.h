#pragma once

#include <cstdint>
#include <vector>

#include "partition/search/problem.h"

namespace penstock::partition {

struct SearchOptions {
  std::uint64_t seed = 1;
  std::int64_t effort = 10'000'000;  // turns estimated, about: less than a second
  bool keep_order = false;           // micro-batches stay as given
};

struct FoundSchedule {
  Schedule schedule;       // "found"; micro-batch i is the problem's order[i]
  std::size_t way = 0;     // which of several problems it solves
  std::vector<int> order;  // the step's canonical order
  double makespan = 0;     // as simulated, seconds
  double lower_bound = 0;

  /// How far it is from the best that there may be: 0 is proven to be the best.
  double gap() const { return makespan / lower_bound - 1; }
};

/// A schedule for the real costs of a step's micro-batches: their order, and the order of passes
/// on each rank, with weight gradients apart, such that the makespan is short and no rank holds
/// more than problem.memory. Starts from every named schedule with the same chunks on the same
/// ranks that fits, so it is never worse than the best of them; then simulated annealing. The same
/// for the same problem and options. ConfigError where the memory does not hold a single
/// micro-batch.
FoundSchedule find_schedule(const ScheduleProblem& problem, const SearchOptions& options = {});

/// The best of several ways to lay out the same step: into one chunk a rank, or several. So it is
/// never worse than a named schedule of any of them that fits; the bound holds for all. Effort is
/// that of each way; one whose bound is not below what is found is left out.
FoundSchedule find_schedule(const std::vector<ScheduleProblem>& ways,
                            const SearchOptions& options = {});

}  // namespace penstock::partition
