#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// A problem of the same choices where something takes more or less time than was assumed.
struct Assumption {
  std::string what;                            // "products take 20 % more time"
  CostModel costs = {}, selective_costs = {};  // empty: those of the problem
  std::optional<double> parameter_s = {};      // as PlanningProblem
  std::vector<double> speeds = {};             // of each device; empty: those of the problem
  double message_factor = 1;                   // of messages' time
};

/// A choice that is better than the decision's where an assumption holds.
struct OtherBest {
  std::string assumption;
  PlanChoice choice;
  double gain = 0;  // of its speed over the decision's choice, as a share
};

/// How far a decision holds.
struct Sensitivity {
  int compared = 0;                           // choices, the decision's among them
  std::vector<std::string> assumptions = {};  // that were tried
  std::vector<OtherBest> others = {};  // where another choice is better, by more than kSameStep
};

/// Seconds of the decision's step under `assumption`, over all its sampled steps.
[[nodiscard]] double step_under(const PlanningProblem& problem, const Decision& decision,
                                const Assumption& assumption);

/// Simulates the decision's best few choices anew under each assumption, with their cuts and
/// placements as they are, over all sampled steps. `problem` as decide() was given it.
[[nodiscard]] Sensitivity sensitivity_of(const PlanningProblem& problem, const Decision& decision,
                                         const std::vector<Assumption>& assumptions);

}  // namespace penstock::partition
