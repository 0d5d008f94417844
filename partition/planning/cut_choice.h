#pragma once

#include <vector>

#include "partition/planning/workload.h"

namespace penstock {

/// The best cut of a choice whose devices are known.
struct ChosenCut {
  bool fits = true;             // into memory; else it is the fastest of those that do not
  std::vector<int> begin = {};  // first layer of each chunk, then their number
  double closed_form = 0;       // seconds of a step
  bool memory_bound = false;    // a faster cut did not fit
  int lacking_stage = 0;        // of the fastest cut, where that does not fit: what it lacks
  double lacking_bytes = 0;
};

/// cut_chunks() within memory, for the mean micro-batch. The layers must be as many as the
/// schedule's chunks.
ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                     const PlanChoice& choice);

}  // namespace penstock
