#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "partition/planner/choose/decide.h"

namespace penstock::partition {

/// Relative gain in speed above which a change is reported.
inline constexpr double kClearlyFaster = 5e-3;

/// Returns the predicted seconds per second of audio, by which choices with different batches
/// compare. Infinite if the alternative was not simulated.
[[nodiscard]] double seconds_per_audio_second(const Candidate& candidate);

/// Returns text such as "stage 2 lacks 1.5 GiB".
std::string describe(const LackingMemory& lacking);

/// Returns text on why a simulated choice lost against the best.
[[nodiscard]] std::string why_slower(const Candidate& best, const Candidate& other);

/// True if a choice that lacks memory would be faster than the best by more than kClearlyFaster, by
/// simulation, if it had that memory.
[[nodiscard]] bool would_be_faster(const Candidate& lacking, const Candidate& best);

/// Returns text on what keeps the plan from being faster. That is the memory that the fastest
/// choice with would_be_faster() lacks, or else the stage that computes most of a step.
[[nodiscard]] std::string bottleneck_of(const Candidate& best,
                                        const std::vector<Candidate>& candidates);

/// Throws ConfigError for a problem with no alternative that fits into memory. The message names
/// the fullest stage of the alternative that comes closest, and the memory that it needs. It also
/// says what would fit: with other stages and replicas, with smaller micro-batches, or with more
/// memory. If `untried` is positive, time ended the search before that many candidates were tried.
/// The message then says so, and not that nothing fits.
[[noreturn]] void throw_infeasible_plan(const PlanningProblem& problem,
                                        const std::vector<Candidate>& candidates,
                                        std::size_t untried);

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
