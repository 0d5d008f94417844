#include "tests/support/partition/every_choice.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "partition/planner/choose/choice_estimate.h"
#include "partition/planner/choose/stage_memory.h"

namespace penstock::test {

using partition::PlanChoice;

double EveryChoice::best() {
  const int devices = problem_.cluster.size();
  const std::vector<int> residents = problem_.constraints.resident
                                         ? std::vector{*problem_.constraints.resident}
                                         : std::vector{0, 2, 3, 4};
  for (int stages = 1; stages <= std::min(devices, problem_.training.sequence->size()); ++stages)
    for (int replicas = 1; replicas <= devices / stages; ++replicas)
      for (const std::string& schedule : problem_.constraints.schedules)
        for (const int resident : residents)
          place({.stages = stages,
                 .replicas = replicas,
                 .batch = problem_.constraints.batches.front(),
                 .schedule = schedule,
                 .resident = resident});
  return best_;
}

void EveryChoice::place(PlanChoice choice) {
  std::vector<int> order(problem_.cluster.devices.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    choice.devices.assign(choice.stages, std::vector<int>(choice.replicas));
    for (int slot = 0; slot < choice.slots(); ++slot)
      choice.devices[slot / choice.replicas][slot % choice.replicas] = order[slot];
    choice.begin = {0};
    cut(choice);
  } while (std::ranges::next_permutation(order).found);
}

void EveryChoice::cut(PlanChoice& choice) {
  const int layers = problem_.training.sequence->size();
  if (std::ssize(choice.begin) == choice.stages + 1) {
    if (choice.begin.back() != layers ||
        partition::StageMemory(problem_, choice).too_full(choice.begin))
      return;
    const partition::Workload& work = workloads_.of(choice.batch, choice.replicas);
    best_ = std::min(best_, estimate_choice(problem_, work, choice).step_seconds);
    return;
  }
  for (int last = choice.begin.back() + 1; last <= layers; ++last) {
    choice.begin.push_back(last);
    cut(choice);
    choice.begin.pop_back();
  }
}

}  // namespace penstock::test
