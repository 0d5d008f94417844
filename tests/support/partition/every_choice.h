#pragma once

#include "partition/planner/choose/problem.h"

namespace penstock::test {

/// The shortest step of a problem with one batch, by simulating every choice that fits: grid,
/// placement, cut, schedule and, unless the problem says which, what is resident. The devices are
/// few, and nothing is recomputed.
class EveryChoice {
 public:
  explicit EveryChoice(const partition::PlanningProblem& problem)
      : problem_(problem), workloads_(problem) {}

  /// Seconds; 1e300 where nothing fits.
  double best();

 private:
  void place(partition::PlanChoice choice);
  void cut(partition::PlanChoice& choice);

  const partition::PlanningProblem& problem_;
  partition::Workloads workloads_;
  double best_ = 1e300;
};

}  // namespace penstock::test
