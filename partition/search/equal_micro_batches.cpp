#include "partition/search/equal_micro_batches.h"

#include <vector>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

ChunkTimes of_chunk(const EqualWork& work, const Schedule& schedule) {
  const double chunks = static_cast<double>(schedule.chunks()) / work.stages;
  return {work.of_rank.forward / chunks, work.of_rank.backward_input / chunks,
          work.of_rank.backward_weight / chunks};
}

FoundSchedule find_schedule(const EqualWork& work, const SearchOptions& options) {
  std::vector<ScheduleProblem> ways;
  for (const char* layout : {"zb-h1", "zb-v", "interleaved"}) {
    const Schedule schedule = make_schedule(layout, work.stages, work.micro_batches);
    ScheduleProblem& problem = ways.emplace_back();
    problem.chunk_rank = schedule.chunk_rank;
    const double share = static_cast<double>(work.stages) / problem.chunks();
    problem.times.assign(problem.chunks(),
                         std::vector<ChunkTimes>(work.micro_batches, of_chunk(work, schedule)));
    problem.held.assign(problem.chunks(), std::vector<double>(work.micro_batches, share));
    problem.memory = work.memory > 0 ? work.memory : work.stages;
  }
  return find_schedule(ways, options);
}

}  // namespace penstock::partition
