#include "partition/planner/search/equal_micro_batches.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule) {
  const double chunks = static_cast<double>(schedule.chunks()) / work.stages;
  return {work.of_rank.forward / chunks, work.of_rank.backward_input / chunks,
          work.of_rank.backward_weight / chunks};
}

namespace {

ScheduleProblem problem_of(const EqualWork& work, const Schedule& schedule) {
  ScheduleProblem problem{.chunk_rank = schedule.chunk_rank};
  // A micro-batch holds 1 on each rank, so its share on a chunk is one over the chunks of a rank.
  const double share = static_cast<double>(work.stages) / problem.chunks();
  problem.times.assign(problem.chunks(),
                       std::vector<ChunkTimes>(work.micro_batches, of_chunk(work, schedule)));
  problem.held.assign(problem.chunks(), std::vector<double>(work.micro_batches, share));
  problem.memory = work.memory > 0 ? work.memory : work.stages;
  return problem;
}

bool fits(const ScheduleProblem& problem, const Schedule& schedule) {
  std::vector<int> order(problem.micro_batches());
  std::iota(order.begin(), order.end(), 0);
  return problem.fits(problem.peak(schedule, order));
}

}  // namespace

FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options) {
  std::vector<ScheduleProblem> ways;
  for (const char* layout : {"zb-h1", "zb-v", "interleaved"})
    ways.push_back(problem_of(work, make_schedule(layout, work.stages, work.micro_batches)));
  // Named schedules with other chunk placements are tried too, if they fit in memory.
  for (const auto name : schedule_names()) {
    const Schedule schedule = make_schedule(name, work.stages, work.micro_batches);
    const bool known = std::ranges::any_of(
        ways, [&](const ScheduleProblem& way) { return way.chunk_rank == schedule.chunk_rank; });
    if (known) continue;
    ScheduleProblem problem = problem_of(work, schedule);
    if (fits(problem, schedule)) ways.push_back(std::move(problem));
  }
  return find_schedule(ways, options);
}

}  // namespace penstock::partition
