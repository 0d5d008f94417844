#pragma once

#include <string>
#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// What a plan would come to if one thing were different.
struct Advice {
  std::string change;  // "with links twice as fast"
  double speed = 0;    // audio seconds trained in a second: the plan's, times what the change gains
};

/// Seconds that questions may take. One that plans again is begun only where as much is left as
/// the plan itself took, so which are asked depends on the machine's pace. Plans do not.
struct AdviceTime {
  double seconds = 5, plan_took = 0;
};

/// Single changes, each planned or simulated again with it alone, the one that brings most first:
/// links twice as fast, for the choice as it is; the memory that the fastest choice which lacks
/// some needs, on every device, or a quarter more where memory binds otherwise, for its stages and
/// replicas; and twice the micro-batches a step, for the choice's. Memory is not asked for where
/// the problem says what is recomputed, nor where no device has a limit. Where a question plans
/// again, with named schedules alone and on many devices less thoroughly, its gain is over the
/// same planning without the change. A change with which nothing can be planned is left out, and
/// so is one for which the problem's time does not last.
[[nodiscard]] std::vector<Advice> advise(const PlanningProblem& problem, const Decision& decision,
                                         const AdviceTime& time = {});

/// "With links twice as fast: 2,310 s of audio a second, 3.8 % more." beside a plan of that speed.
[[nodiscard]] std::string sentence_of(const Advice& advice, double speed);

}  // namespace penstock::partition
