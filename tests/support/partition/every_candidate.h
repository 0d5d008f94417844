#pragma once

#include "partition/planner/choose/problem.h"

namespace penstock::test {

/// The shortest step of a problem with one batch, by simulating every candidate that fits: grid,
/// placement, cut, schedule and, unless the problem says which, what is resident. The devices are
/// few, and nothing is recomputed.
class EveryCandidate {
 public:
  explicit EveryCandidate(const partition::PlanningProblem& problem)
      : problem_(problem), workloads_(problem) {}

  /// Seconds; 1e300 where nothing fits.
  double best();

 private:
  void place(partition::Candidate candidate);
  void cut(partition::Candidate& candidate);

  const partition::PlanningProblem& problem_;
  partition::Workloads workloads_;
  double best_ = 1e300;
};

}  // namespace penstock::test
