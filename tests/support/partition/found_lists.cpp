#include "tests/support/partition/found_lists.h"

#include "partition/planner/search/find_schedule.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::test {

partition::RunSchedule found_lists(int stages, int own, const std::vector<int>& sizes) {
  partition::ScheduleProblem problem{
      .chunk_rank = partition::chunk_ranks(partition::kFound, stages),
      .memory = static_cast<double>(stages)};
  for (int stage = 0; stage < stages; ++stage) {
    auto& times = problem.times.emplace_back();
    for (int place = 0; place < own; ++place) {
      const double longer = sizes.empty() ? 1 : 2 * own - sizes[place];
      times.push_back({longer, (2 + stage % 2) * longer, (1 + stage) * longer});
    }
  }
  return {partition::find_schedule(problem, {.effort = 30'000, .keep_order = true}).schedule,
          sizes};
}

}  // namespace penstock::test
