#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "partition/choose/tried_choices.h"

namespace penstock::partition {

struct Decision {
  PlanChoice choice;
  ChoiceEstimate estimate;
  Workload workload = {};          // of the choice
  std::vector<double> slots = {};  // bytes that micro-batches in flight hold on each chunk at most
  std::vector<double> offloaded = {};  // offloaded_bytes()
  double lower_bound = 0;              // seconds that no choice takes less, for as much audio
  std::string bottleneck = {};         // what keeps it from being faster
  std::vector<Alternative> alternatives =
      {};  // the choice first, then by what they are predicted to take

  double gap() const {
    return lower_bound > 0 ? std::max(estimate.step_seconds / lower_bound - 1, 0.0) : 0;
  }
};

/// The plan that trains most audio a second, as simulated:
/// 1. every (batch, stages, replicas) whose parameters alone may fit (MemoryBound), in the order of
///    a bound from work and devices, until that is half above the best closed form: a placement by
///    find_placement(). Of those, 48 or, where none of these fits, as many as it takes;
/// 2. each of them with every schedule: the cut of cut_choice(), where memory binds also with a
///    sharded optimizer, with recomputation within layers, with the cheapest one of whole layers
///    (RecomputeSearch) and with these together, or with offload alone, and a step simulated; of
///    those that may become the best by it, once more with a sharded optimizer;
/// 3. those near the best over all sampled steps, and the best few refined by ChoiceRefiner, as far
///    as that may make them the best; then the best four by all of its moves;
/// 4. where the problem asks for it, find_choice() for the best few of them.
/// Where the problem's time is over, the best so far is chosen; if there is none yet, the first
/// that fits. The same for the same problem unless time ends it. ConfigError where nothing fits:
/// which constraint binds, and what would fit; and another one where time ends the search before
/// all were tried.
Decision decide(const PlanningProblem& problem);

}  // namespace penstock::partition
