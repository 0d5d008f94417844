#include "partition/planner/choose/find_best_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "configs/config.h"
#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/refine_candidate.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/choose/unplaced_candidates.h"
#include "partition/planner/choose/with_found_schedule.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

// A best-first search over (batch, stages, replicas, devices, schedule, cut, memory measures), in
// stages of rising cost. Cheap bounds and the closed form shortlist candidates; the event simulator
// ranks them; local search refines the best few. The shortlist is heuristic: the factors of
// SearchLimits by which estimates may be wrong are assumptions. Invariant: after sort(), results_
// is in the order of pace, and those that were not simulated come last. See docs/design/planner.md
// for what is exact.
class PlanSearch {
 public:
  explicit PlanSearch(const PlanningProblem& problem)
      : problem_(problem), common_(problem), tried_(common_) {}

  BestPlan find_best_plan() {
    const std::size_t untried = try_all(unplaced_candidates(problem_, common_.workloads));
    if (!tried_.found()) throw_infeasible_plan(problem_, results_, untried);
    if (problem_.search.is_quick) {
      sort();
      shard();
      return finish();
    }
    weigh();
    if (problem_.search.finds) find();
    compare_barriers();
    simulate_lacking();
    return finish();
  }

 private:
  using UnplacedCandidates = std::vector<UnplacedCandidate>;  // in the order of trial

  /// True if some candidate fits and the time limit is over.
  bool has_to_end() const { return has_to_end(tried_); }
  bool has_to_end(const TriedCandidates& tried) const {
    return tried.found() && is_over(problem_.search.time);
  }

  /// Tries candidates with the lowest bounds first. If none of these fits, tries those with the
  /// most free memory until one fits. Returns how many may fit but were not tried; this is 0 if
  /// nothing fits and time was enough.
  std::size_t try_all(const UnplacedCandidates& all) {
    MemoryBound memory(problem_);
    UnplacedCandidates left, refuted;
    std::ranges::partition_copy(all, std::back_inserter(left), std::back_inserter(refuted),
                                [&](const UnplacedCandidate& one) { return memory.can_fit(one); });
    const auto fullness = [&](const UnplacedCandidate& one) {
      return memory.fullness(one.batch, one.grid);
    };
    left = try_some(left, kLimits.placed);
    if (!tried_.found()) {
      std::ranges::stable_sort(left, {}, fullness);
      left = try_some(left, left.size(), true);
      std::ranges::stable_sort(left, {}, &UnplacedCandidate::bound);
      left = try_some(left, kLimits.placed);
    }
    for (const UnplacedCandidate& unplaced : left)
      leave_out(unplaced, "lower bound from the closed form");
    if (results_.empty()) std::ranges::stable_sort(refuted, {}, fullness);
    explain(refuted);
    return left.size();
  }

  /// Tries at most `max` candidates. Returns the others: those with a hopeless bound, and those for
  /// which no number or time was left.
  UnplacedCandidates try_some(const UnplacedCandidates& some, std::size_t max,
                              bool until_found = false) {
    UnplacedCandidates left;
    std::size_t placed = 0;
    for (auto next = some.begin(); next != some.end();) {
      // Until something fits, rounds have one candidate, so that a time limit ends at the first
      // fit.
      const std::size_t room = until_found || !tried_.found() ? 1 : kLimits.tried_at_once;
      UnplacedCandidates round;
      for (; next != some.end() && round.size() < room; ++next) {
        const bool enough =
            placed == max || (until_found && (tried_.found() || is_over(problem_.search.time)));
        if (enough || tried_.is_hopeless(next->bound) || has_to_end()) {
          left.push_back(*next);
        } else {
          round.push_back(*next);
          ++placed;
        }
      }
      std::ranges::move(try_at_once(round), std::back_inserter(left));
    }
    return left;
  }

  /// Tries a round in parallel. Returns the candidates for which no time was left.
  UnplacedCandidates try_at_once(const UnplacedCandidates& round) {
    std::vector<TriedCandidates> tried;
    std::vector<char> is_late(round.size(), false);
    for (std::size_t i = 0; i < round.size(); ++i) tried.push_back(TriedCandidates::beside(tried_));
    parallel_for(round.size(), problem_.search.threads, [&](std::size_t i) {
      is_late[i] = has_to_end();
      if (is_late[i]) return;
      try_schedules(round[i], tried[i], [&](const Candidate& candidate) {
        tried[i].try_with_what_memory_asks(candidate);
      });
    });
    UnplacedCandidates late;
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (is_late[i]) late.push_back(round[i]);
      tried_.add(std::move(tried[i]));
    }
    return late;
  }

  /// Cuts the first few candidates that can't fit, so that the report can name the memory that they
  /// lack. Leaves out the others, and those that are hopeless even with it.
  void explain(const UnplacedCandidates& refuted) {
    std::size_t explained = 0;
    for (const UnplacedCandidate& unplaced : refuted) {
      if (explained == kLimits.explained || tried_.is_hopeless(unplaced.bound) || has_to_end()) {
        leave_out(unplaced, "its parameters alone need more memory");
        continue;
      }
      ++explained;
      try_schedules(unplaced, tried_,
                    [&](const Candidate& candidate) { tried_.try_as_it_is(candidate); });
    }
  }

  /// Calls visit(candidate) for each placement and each schedule that has no more chunks than
  /// layers.
  template <class Visit>
  void try_schedules(const UnplacedCandidate& unplaced, TriedCandidates& tried, Visit visit) {
    const Workload& workload = common_.workloads.of(unplaced.batch, unplaced.grid.replicas);
    for (const Placement& devices : placements(problem_, workload, unplaced))
      for (const std::string& schedule : problem_.constraints.schedules) {
        if (has_to_end(tried)) break;
        const Candidate candidate = make_candidate(unplaced, devices, schedule);
        if (std::ssize(ranks_of_chunks(candidate)) <= problem_.model.sequence->size())
          visit(candidate);
        else
          tried.results().push_back({.candidate = candidate, .why = "more chunks than layers"});
        if (unplaced.grid.stages == 1) break;  // all schedules are alike on one stage
      }
  }

  void leave_out(const UnplacedCandidate& unplaced, const char* why) {
    const double audio = common_.workloads.of(unplaced.batch, 1).audio_seconds;
    results_.push_back({.candidate = make_candidate(unplaced, {}, ""),
                        .closed_form = unplaced.bound * audio,
                        .is_bound = true,
                        .audio_seconds = audio,
                        .why = fmt::format("not tried: {}", why)});
  }

  Candidate make_candidate(const UnplacedCandidate& unplaced, const Placement& devices,
                           const std::string& schedule) const {
    return {.stages = unplaced.grid.stages,
            .replicas = unplaced.grid.replicas,
            .batch = unplaced.batch,
            .schedule = schedule,
            .recomputed = problem_.constraints.recomputed.value_or(ChosenLayers()),
            .selective = problem_.constraints.selective,
            .resident = problem_.constraints.resident.value_or(0),
            .shards_optimizer = shards(unplaced.grid),
            .devices = devices};
  }

  /// True if the problem asks for a sharded optimizer and there is more than one replica.
  bool shards(const Grid& grid) const {
    return problem_.constraints.shards_optimizer.value_or(false) && grid.replicas > 1;
  }

  /// Adds variants with a sharded optimizer of candidates that may become the best by it, if they
  /// are faster. A candidate can't become the best if even a free update would not suffice.
  void shard() {
    if (problem_.constraints.shards_optimizer) return;
    std::vector<CandidateResult> faster;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const CandidateResult& whole = results_[i];
      if (!whole.estimate || has_to_end()) break;
      if (whole.candidate.replicas == 1 || whole.candidate.shards_optimizer) continue;
      const double update =
          longest_update(problem_, tried_.workload_of(whole.candidate), whole.candidate);
      if (seconds_per_audio_second(whole) - update / whole.audio_seconds >
          seconds_per_audio_second(results_.front()))
        continue;
      CandidateResult sharded = whole;
      sharded.candidate.shards_optimizer = true;
      if (StageMemory(problem_, sharded.candidate).too_full(sharded.candidate.begin)) continue;
      sharded.estimate = tried_.estimate(sharded.candidate, 1);
      if (seconds_per_audio_second(sharded) < seconds_per_audio_second(whole))
        faster.push_back(std::move(sharded));
    }
    results_.insert(results_.end(), faster.begin(), faster.end());
    sort();
  }

  /// Simulates all candidates that may be the best over all sampled steps, and refines the best
  /// few.
  void weigh() {
    sort();
    shard();
    while (simulate_all_steps()) sort();
    refine_best();
    sort();
    finish_refinement();
    sort();
  }

  /// Refines the best few, round by round, until no other may become the best.
  void refine_best() {
    double refined_pace = kInfeasible;
    Quota few;
    for (auto next = results_.begin(); next != results_.end();) {
      std::vector<CandidateResult*> round;
      for (; next != results_.end() && round.size() < kLimits.refined_at_once; ++next) {
        if (!may_become_best(*next, refined_pace) || has_to_end()) {
          next = results_.end();
          break;
        }
        if (is_among(few, next->candidate)) round.push_back(&*next);
      }
      parallel_for(round.size(), problem_.search.threads,
                   [&](std::size_t i) { refiner_of(*round[i], moves_).refine(*round[i]); });
      for (const CandidateResult* one : round)
        refined_pace = std::min(refined_pace, seconds_per_audio_second(*one));
    }
  }

  /// True if refinement may make the candidate the best, given the best pace after refinement so
  /// far.
  bool may_become_best(const CandidateResult& result, double refined_pace) const {
    return result.estimate &&
           (exchanges_devices(problem_.cluster) ||
            seconds_per_audio_second(result) <= kLimits.refinement * refined_pace);
  }

  /// Tries all moves of boundaries for the best few, if refinement left some out.
  void finish_refinement() {
    if (moves_ == Moves::all) return;
    parallel_for(std::min(kLimits.settled, results_.size()), problem_.search.threads,
                 [&](std::size_t i) {
                   if (!results_[i].estimate || has_to_end()) return;
                   const CandidateRefiner refiner = refiner_of(results_[i], Moves::all);
                   while (refiner.move_boundaries(results_[i])) {
                   }
                 });
  }

  CandidateRefiner refiner_of(const CandidateResult& result, Moves moves) {
    return {problem_, tried_.workload_of(result.candidate), moves};
  }

  /// Numbers of best candidates that were taken so far.
  struct Quota {
    std::size_t offloading = 0, others = 0;
  };

  /// Counts the next best candidate, and returns true if it is among the best few. Candidates that
  /// offload without being asked to have a quota of their own.
  bool is_among(Quota& few, const Candidate& candidate) const {
    if (tried_.offloads_besides(candidate)) return few.offloading++ < kLimits.refined_offloads;
    return few.others++ < kLimits.refined;
  }

  /// Simulates the best few, and all that come near the best, over all sampled steps. Returns true
  /// if an estimate changed and there is time for more.
  bool simulate_all_steps() {
    const double wide = kLimits.one_step * seconds_per_audio_second(results_.front());
    std::vector<CandidateResult*> wanted;
    Quota few;
    for (CandidateResult& result : results_) {
      if (!result.estimate) break;
      if (!is_among(few, result.candidate) && seconds_per_audio_second(result) > wide) continue;
      if (!result.over_all_steps) wanted.push_back(&result);
    }
    parallel_for(wanted.size(), problem_.search.threads, [&](std::size_t i) {
      if (has_to_end()) return;
      wanted[i]->estimate = estimate(problem_, wanted[i]->candidate);
      wanted[i]->over_all_steps = true;
    });
    return !wanted.empty() && !has_to_end();
  }

  CandidateEstimate estimate(const PlanningProblem& problem, const Candidate& candidate) {
    return estimate_candidate(problem, tried_.workload_of(candidate), candidate);
  }

  /// Adds variants of the best candidates with found schedules, and sorts them in.
  void find() {
    std::vector<CandidateResult> found =
        candidates_with_found_schedules(problem_, common_.workloads, results_);
    // At the end, so that the stable sort lets them win no tie.
    results_.insert(results_.end(), found.begin(), found.end());
    std::ranges::stable_sort(results_, {}, [&](const CandidateResult& result) {
      const bool requested = !problem_.search.finds_only || !result.candidate.actions.empty();
      return std::pair(!requested, seconds_per_audio_second(result));
    });
  }

  void sort() { std::ranges::stable_sort(results_, {}, seconds_per_audio_second); }

  /// Simulates the best few with the other Barrier than the problem's.
  void compare_barriers() {
    PlanningProblem other = problem_;
    other.constraints.barrier =
        problem_.constraints.barrier == Barrier::none ? Barrier::before_step : Barrier::none;
    parallel_for(std::min(kLimits.refined, results_.size()), problem_.search.threads,
                 [&](std::size_t i) {
                   CandidateResult& result = results_[i];
                   if (result.estimate && result.candidate.slots() > 1 && !has_to_end())
                     result.other_barrier_s = estimate(other, result.candidate).step_seconds;
                 });
  }

  /// Simulates candidates that lack memory as if they had it. The closed form alone does not show
  /// whether they would be faster.
  void simulate_lacking() {
    std::vector<CandidateResult*> lacking;
    for (CandidateResult& result : results_)
      if (result.lacks && !result.candidate.begin.empty()) lacking.push_back(&result);
    std::ranges::stable_sort(lacking, {}, [](const CandidateResult* one) {
      return one->closed_form / one->audio_seconds;
    });
    parallel_for(
        std::min(kLimits.roomy, lacking.size()), problem_.search.threads, [&](std::size_t i) {
          if (!has_to_end())
            lacking[i]->speed_with_memory = estimate(problem_, lacking[i]->candidate).speed();
        });
  }

  /// True if the best candidate would have a cut that is faster by simulation, were memory
  /// unlimited.
  bool memory_shapes(const CandidateResult& best) {
    if (!best.memory_bound || problem_.search.is_quick) return false;
    PlanningProblem roomy = problem_;
    for (Device& device : roomy.cluster.devices) device.memory = kInfeasible;
    Candidate candidate = best.candidate;
    candidate.begin = cut_candidate(roomy, tried_.workload_of(candidate), candidate).begin;
    return estimate(problem_, candidate).speed() * seconds_per_audio_second(best) > 1 + kSameStep;
  }

  BestPlan finish() {
    const CandidateResult& best = results_.front();
    BestPlan best_plan;
    best_plan.workload = tried_.workload_of(best.candidate);
    best_plan.slots = StageMemory(problem_, best.candidate).slots(best.candidate.begin);
    best_plan.offloaded = offloaded_bytes(problem_, best.candidate);
    best_plan.lower_bound = bound_of_pace() * best.estimate->audio_seconds;
    CandidateResult named = best;
    named.memory_bound = memory_shapes(best);
    best_plan.bottleneck = bottleneck_of(named, results_);
    for (CandidateResult& result : results_) {
      if (&result == &best || !result.estimate) continue;
      result.why = why_slower(best, result);
    }
    best_plan.results = results_;
    return best_plan;
  }

  /// Returns a lower bound on seconds per second of audio, for any candidate. It is the larger of
  /// two: a step's work spread over all devices that may be used, and the longest micro-batch's
  /// forward and input gradients on the fastest device.
  double bound_of_pace() {
    std::vector<double> speeds;
    for (const Device& device : problem_.cluster.devices) speeds.push_back(device.speed);
    std::ranges::sort(speeds, std::greater{});
    std::size_t used = speeds.size();
    if (problem_.constraints.stages > 0 && problem_.constraints.replicas > 0)
      used =
          std::min<std::size_t>(used, problem_.constraints.stages * problem_.constraints.replicas);
    const double sum = std::accumulate(speeds.begin(), speeds.begin() + used, 0.0);
    double min = kInfeasible;
    for (const BatchDivision& batch : problem_.constraints.batches) {
      const Workload& workload = common_.workloads.of(batch, 1);
      const double seconds = std::max(workload.work / sum, workload.longest / speeds.front());
      min = std::min(min, seconds / workload.audio_seconds);
    }
    return min;
  }

  const PlanningProblem& problem_;
  const Moves moves_ = quick_moves(problem_);
  TriedCandidates::Common common_;
  TriedCandidates tried_;
  std::vector<CandidateResult>& results_ = tried_.results();
};

}  // namespace

BestPlan find_best_plan(const PlanningProblem& problem) {
  return PlanSearch(problem).find_best_plan();
}

}  // namespace penstock::partition
