#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partition/planner/choose/decide.h"

namespace penstock::partition {

/// A change of a problem's costs, under which its choices are simulated again.
struct Assumption {
  std::string what;                            // "products take 20 % more time"
  CostModel costs = {}, selective_costs = {};  // empty: the problem's
  std::optional<double> parameter_s = {};      // as PlanningProblem's; unset: the problem's
  std::vector<double> speeds = {};             // of each device; empty: the problem's
  double message_factor = 1;                   // on the time of messages
};

/// A choice that is better than the decision's under an assumption.
struct OtherBest {
  std::string assumption;
  PlanChoice choice;
  double gain = 0;  // relative gain in speed over the decision's choice
};

/// The assumptions under which a decision stays the best, and those under which it does not.
struct Sensitivity {
  int compared = 0;                           // number of choices compared, the decision's included
  std::vector<std::string> assumptions = {};  // all that were tried
  std::vector<OtherBest> others = {};         // better by more than kSameStep
};

/// Returns the seconds of the decision's step under `assumption`, over all its sampled steps.
[[nodiscard]] double step_under(const PlanningProblem& problem, const Decision& decision,
                                const Assumption& assumption);

/// Simulates the decision's best few choices under each assumption, over all sampled steps. Cuts
/// and placements stay as they are. `problem` must be the one that was passed to decide().
[[nodiscard]] Sensitivity sensitivity_of(const PlanningProblem& problem, const Decision& decision,
                                         const std::vector<Assumption>& assumptions);

}  // namespace penstock::partition
