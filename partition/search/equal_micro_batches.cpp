#include "partition/search/equal_micro_batches.h"

#include <algorithm>

#include "partition/schedule/make_schedule.h"
#include "partition/search/lower_bound.h"

namespace penstock::partition {

ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule) {
  const double chunks = static_cast<double>(schedule.chunks()) / work.stages;
  return {work.of_rank.forward / chunks, work.of_rank.backward_input / chunks,
          work.of_rank.backward_weight / chunks};
}

FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options) {
  FoundSchedule best;
  double bound = 0;
  for (const char* layout : {"zb-h1", "zb-v", "interleaved"}) {
    const Schedule schedule = make_schedule(layout, work.stages, work.micro_batches);
    ScheduleProblem problem{.chunk_rank = schedule.chunk_rank};
    const double share = static_cast<double>(work.stages) / problem.chunks();
    problem.times.assign(problem.chunks(),
                         std::vector<ChunkTimes>(work.micro_batches, of_chunk(work, schedule)));
    problem.held.assign(problem.chunks(), std::vector<double>(work.micro_batches, share));
    problem.memory = work.memory > 0 ? work.memory : work.stages;
    const double of_layout = lower_bound(problem);
    bound = bound == 0 ? of_layout : std::min(bound, of_layout);
    if (!best.order.empty() && of_layout >= best.makespan * (1 - 1e-12)) continue;
    FoundSchedule found = find_schedule(problem, options);
    if (best.order.empty() || found.makespan < best.makespan) best = std::move(found);
  }
  best.lower_bound = bound;
  return best;
}

}  // namespace penstock::partition
