#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "partition/planner/choose/find_best_plan.h"

namespace penstock::partition {

/// Relative gain in speed above which a change is reported.
inline constexpr double kClearlyFaster = 5e-3;

/// Returns the predicted seconds per second of audio, by which candidates with different batches
/// compare. Infinite if the candidate was not simulated.
[[nodiscard]] double seconds_per_audio_second(const CandidateResult& result);

/// Returns text such as "stage 2 lacks 1.5 GiB".
std::string describe(const LackingMemory& lacking);

/// Returns text on why a simulated candidate lost against the best.
[[nodiscard]] std::string why_slower(const CandidateResult& best, const CandidateResult& other);

/// True if a candidate that lacks memory would be faster than the best by more than kClearlyFaster,
/// by simulation, if it had that memory.
[[nodiscard]] bool would_be_faster(const CandidateResult& lacking, const CandidateResult& best);

/// Returns text on what keeps the plan from being faster. That is the memory that the fastest
/// candidate with would_be_faster() lacks, or else the stage that computes most of a step.
[[nodiscard]] std::string bottleneck_of(const CandidateResult& best,
                                        const std::vector<CandidateResult>& results);

/// Throws ConfigError for a problem with no candidate that fits into memory. The message names
/// the fullest stage of the candidate that comes closest, and the memory that it needs. It also
/// says what would fit: with other stages and replicas, with smaller micro-batches, or with more
/// memory. If `untried` is positive, time ended the search before that many candidates were tried.
/// The message then says so, and not that nothing fits.
[[noreturn]] void throw_infeasible_plan(const PlanningProblem& problem,
                                        const std::vector<CandidateResult>& results,
                                        std::size_t untried);

/// A change of a problem's costs, under which its candidates are simulated again.
struct Assumption {
  std::string what;                            // "products take 20 % more time"
  CostModel costs = {}, selective_costs = {};  // empty: the problem's
  std::optional<double> parameter_s = {};      // as TrainedModel's; unset: the problem's
  std::vector<double> speeds = {};             // of each device; empty: the problem's
  double message_factor = 1;                   // on the time of messages
};

/// A candidate that would be faster than the best plan under an assumption.
struct OtherBest {
  std::string assumption;
  Candidate candidate;
  double gain = 0;  // relative gain in speed over the best plan
};

/// Sensitivity lists the assumptions that were tried, and the candidates that would be faster than
/// the best plan under some of them.
struct Sensitivity {
  int compared = 0;  // number of candidates compared, the best plan included
  std::vector<std::string> assumptions = {};  // all that were tried
  std::vector<OtherBest> others = {};         // faster by more than kSameStep
};

/// Returns the seconds of the best plan's step under `assumption`, over all its sampled steps.
[[nodiscard]] double step_under(const PlanningProblem& problem, const BestPlan& best_plan,
                                const Assumption& assumption);

/// Simulates the fastest few of best_plan.results under each assumption, over all sampled steps.
/// Cuts and placements stay as they are. `problem` must be the one that was passed to
/// find_best_plan().
[[nodiscard]] Sensitivity sensitivity_of(const PlanningProblem& problem, const BestPlan& best_plan,
                                         const std::vector<Assumption>& assumptions);

}  // namespace penstock::partition
