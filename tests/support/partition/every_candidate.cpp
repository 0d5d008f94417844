#include "tests/support/partition/every_candidate.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/stage_memory.h"

namespace penstock::test {

using partition::Candidate;

double EveryCandidate::best() {
  const int devices = problem_.cluster.size();
  const std::vector<int> residents = problem_.constraints.resident
                                         ? std::vector{*problem_.constraints.resident}
                                         : std::vector{0, 2, 3, 4};
  for (int stages = 1; stages <= std::min(devices, problem_.model.sequence->size()); ++stages)
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

void EveryCandidate::place(Candidate candidate) {
  std::vector<int> order(problem_.cluster.devices.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    candidate.devices.assign(candidate.stages, std::vector<int>(candidate.replicas));
    for (int slot = 0; slot < candidate.slots(); ++slot)
      candidate.devices[slot / candidate.replicas][slot % candidate.replicas] = order[slot];
    candidate.begin = {0};
    cut(candidate);
  } while (std::ranges::next_permutation(order).found);
}

void EveryCandidate::cut(Candidate& candidate) {
  const int layers = problem_.model.sequence->size();
  if (std::ssize(candidate.begin) == candidate.stages + 1) {
    if (candidate.begin.back() != layers ||
        partition::StageMemory(problem_, candidate).too_full(candidate.begin))
      return;
    const partition::Workload& work = workloads_.of(candidate.batch, candidate.replicas);
    best_ = std::min(best_, estimate_candidate(problem_, work, candidate).step_seconds);
    return;
  }
  for (int last = candidate.begin.back() + 1; last <= layers; ++last) {
    candidate.begin.push_back(last);
    cut(candidate);
    candidate.begin.pop_back();
  }
}

}  // namespace penstock::test
