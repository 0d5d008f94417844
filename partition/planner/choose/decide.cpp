#include "partition/planner/choose/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "configs/config.h"
#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/find_choice.h"
#include "partition/planner/choose/proposals.h"
#include "partition/planner/choose/refine_choice.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

// A best-first search over (batch, stages, replicas, devices, schedule, cut, memory measures), in
// stages of rising cost. Cheap bounds and the closed form shortlist choices; the event simulator
// ranks them; local search refines the best few. The shortlist is heuristic: the factors
// of SearchLimits by which estimates may be wrong are assumptions. Invariant: after
// sort(), candidates_ is in the order of pace, and those that were not simulated come last.
// See docs/design/planner.md for what is exact.
class Decider {
 public:
  explicit Decider(const PlanningProblem& problem)
      : problem_(problem), common_(problem), tried_(common_) {}

  Decision decide() {
    const std::size_t untried = try_all(proposals(problem_, common_.workloads));
    if (!tried_.found()) throw_infeasible_plan(problem_, candidates_, untried);
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
  using Proposals = std::vector<Proposal>;  // in the order of trial

  /// True if a choice was found and the time limit is over.
  bool has_to_end() const { return has_to_end(tried_); }
  bool has_to_end(const TriedChoices& tried) const {
    return tried.found() && is_over(problem_.search.time);
  }

  /// Tries proposals with the lowest bounds first. If none of these fits, tries those with the most
  /// free memory until one fits. Returns how many may fit but were not tried; this is 0 if nothing
  /// fits and time was enough.
  std::size_t try_all(const Proposals& all) {
    MemoryBound memory(problem_);
    Proposals left, refuted;
    std::ranges::partition_copy(all, std::back_inserter(left), std::back_inserter(refuted),
                                [&](const Proposal& one) { return memory.can_fit(one); });
    const auto fullness = [&](const Proposal& one) { return memory.fullness(one.batch, one.grid); };
    left = try_some(left, kLimits.placed);
    if (!tried_.found()) {
      std::ranges::stable_sort(left, {}, fullness);
      left = try_some(left, left.size(), true);
      std::ranges::stable_sort(left, {}, &Proposal::bound);
      left = try_some(left, kLimits.placed);
    }
    for (const Proposal& proposal : left) leave_out(proposal, "lower bound from the closed form");
    if (candidates_.empty()) std::ranges::stable_sort(refuted, {}, fullness);
    explain(refuted);
    return left.size();
  }

  /// Tries at most `max` proposals. Returns the others: those with a hopeless bound, and those for
  /// which no number or time was left.
  Proposals try_some(const Proposals& some, std::size_t max, bool until_found = false) {
    Proposals left;
    std::size_t placed = 0;
    for (auto next = some.begin(); next != some.end();) {
      // Until something fits, rounds have one proposal, so that a time limit ends at the first fit.
      const std::size_t room = until_found || !tried_.found() ? 1 : kLimits.tried_at_once;
      Proposals round;
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

  /// Tries a round in parallel. Returns the proposals for which no time was left.
  Proposals try_at_once(const Proposals& round) {
    std::vector<TriedChoices> tried;
    std::vector<char> is_late(round.size(), false);
    for (std::size_t i = 0; i < round.size(); ++i) tried.push_back(TriedChoices::beside(tried_));
    parallel_for(round.size(), problem_.search.threads, [&](std::size_t i) {
      is_late[i] = has_to_end();
      if (is_late[i]) return;
      try_schedules(round[i], tried[i],
                    [&](const PlanChoice& choice) { tried[i].try_with_what_memory_asks(choice); });
    });
    Proposals late;
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (is_late[i]) late.push_back(round[i]);
      tried_.add(std::move(tried[i]));
    }
    return late;
  }

  /// Cuts the first few proposals that can't fit, so that the report can name the memory that they
  /// lack. Leaves out those that are hopeless even with it.
  void explain(const Proposals& refuted) {
    std::size_t explained = 0;
    for (const Proposal& proposal : refuted) {
      if (explained == kLimits.explained || tried_.is_hopeless(proposal.bound) || has_to_end()) {
        leave_out(proposal, "its parameters alone need more memory");
        continue;
      }
      ++explained;
      try_schedules(proposal, tried_,
                    [&](const PlanChoice& choice) { tried_.try_as_it_is(choice); });
    }
  }

  /// Calls visit(choice) for each placement and each schedule that has no more chunks than layers.
  template <class Visit>
  void try_schedules(const Proposal& proposal, TriedChoices& tried, Visit visit) {
    const Workload& workload = common_.workloads.of(proposal.batch, proposal.grid.replicas);
    for (const Placement& devices : placements(problem_, workload, proposal))
      for (const std::string& schedule : problem_.constraints.schedules) {
        if (has_to_end(tried)) break;
        const PlanChoice choice = choice_of(proposal, devices, schedule);
        if (std::ssize(ranks_of_chunks(choice)) <= problem_.training.sequence->size())
          visit(choice);
        else
          tried.candidates().push_back({.choice = choice, .why = "more chunks than layers"});
        if (proposal.grid.stages == 1) break;  // all schedules are alike on one stage
      }
  }

  void leave_out(const Proposal& proposal, const char* why) {
    const double audio = common_.workloads.of(proposal.batch, 1).audio_seconds;
    candidates_.push_back({.choice = choice_of(proposal, {}, ""),
                           .closed_form = proposal.bound * audio,
                           .is_bound = true,
                           .audio_seconds = audio,
                           .why = fmt::format("not tried: {}", why)});
  }

  PlanChoice choice_of(const Proposal& proposal, const Placement& devices,
                       const std::string& schedule) const {
    return {.stages = proposal.grid.stages,
            .replicas = proposal.grid.replicas,
            .batch = proposal.batch,
            .schedule = schedule,
            .recomputed = problem_.constraints.recomputed.value_or(ChosenLayers()),
            .selective = problem_.constraints.selective,
            .resident = problem_.constraints.resident.value_or(0),
            .shards_optimizer = shards(proposal.grid),
            .devices = devices};
  }

  /// True if the problem asks for a sharded optimizer and there is more than one replica.
  bool shards(const Grid& grid) const {
    return problem_.constraints.shards_optimizer.value_or(false) && grid.replicas > 1;
  }

  /// Adds variants with a sharded optimizer of choices that may become the best by it, if they are
  /// faster. A choice can't become the best if even a free update would not suffice.
  void shard() {
    if (problem_.constraints.shards_optimizer) return;
    std::vector<Candidate> faster;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& whole = candidates_[i];
      if (!whole.estimate || has_to_end()) break;
      if (whole.choice.replicas == 1 || whole.choice.shards_optimizer) continue;
      const double update =
          longest_update(problem_, tried_.workload_of(whole.choice), whole.choice);
      if (seconds_per_audio_second(whole) - update / whole.audio_seconds >
          seconds_per_audio_second(candidates_.front()))
        continue;
      Candidate sharded = whole;
      sharded.choice.shards_optimizer = true;
      if (StageMemory(problem_, sharded.choice).too_full(sharded.choice.begin)) continue;
      sharded.estimate = tried_.estimate(sharded.choice, 1);
      if (seconds_per_audio_second(sharded) < seconds_per_audio_second(whole))
        faster.push_back(std::move(sharded));
    }
    candidates_.insert(candidates_.end(), faster.begin(), faster.end());
    sort();
  }

  /// Simulates all choices that may be the best over all sampled steps, and refines the best few.
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
    for (auto next = candidates_.begin(); next != candidates_.end();) {
      std::vector<Candidate*> round;
      for (; next != candidates_.end() && round.size() < kLimits.refined_at_once; ++next) {
        if (!may_become_best(*next, refined_pace) || has_to_end()) {
          next = candidates_.end();
          break;
        }
        if (is_among(few, next->choice)) round.push_back(&*next);
      }
      parallel_for(round.size(), problem_.search.threads,
                   [&](std::size_t i) { refiner_of(*round[i], moves_).refine(*round[i]); });
      for (const Candidate* one : round)
        refined_pace = std::min(refined_pace, seconds_per_audio_second(*one));
    }
  }

  /// True if refinement may make the choice the best, given the best pace after refinement so far.
  bool may_become_best(const Candidate& candidate, double refined_pace) const {
    return candidate.estimate &&
           (exchanges_devices(problem_.cluster) ||
            seconds_per_audio_second(candidate) <= kLimits.refinement * refined_pace);
  }

  /// Tries all moves of boundaries for the best few, if refinement left some out.
  void finish_refinement() {
    if (moves_ == Moves::all) return;
    parallel_for(std::min(kLimits.settled, candidates_.size()), problem_.search.threads,
                 [&](std::size_t i) {
                   if (!candidates_[i].estimate || has_to_end()) return;
                   const ChoiceRefiner refiner = refiner_of(candidates_[i], Moves::all);
                   while (refiner.move_boundaries(candidates_[i])) {
                   }
                 });
  }

  ChoiceRefiner refiner_of(const Candidate& candidate, Moves moves) {
    return {problem_, tried_.workload_of(candidate.choice), moves};
  }

  /// Numbers of best choices that were taken so far.
  struct Quota {
    std::size_t offloading = 0, others = 0;
  };

  /// Counts the next best choice, and returns true if it is among the best few. Choices that
  /// offload without being asked to have a quota of their own.
  bool is_among(Quota& few, const PlanChoice& choice) const {
    if (tried_.offloads_besides(choice)) return few.offloading++ < kLimits.refined_offloads;
    return few.others++ < kLimits.refined;
  }

  /// Simulates the best few, and all that come near the best, over all sampled steps. Returns true
  /// if an estimate changed and there is time for more.
  bool simulate_all_steps() {
    const double wide = kLimits.one_step * seconds_per_audio_second(candidates_.front());
    std::vector<Candidate*> wanted;
    Quota few;
    for (Candidate& candidate : candidates_) {
      if (!candidate.estimate) break;
      if (!is_among(few, candidate.choice) && seconds_per_audio_second(candidate) > wide) continue;
      if (!candidate.over_all_steps) wanted.push_back(&candidate);
    }
    parallel_for(wanted.size(), problem_.search.threads, [&](std::size_t i) {
      if (has_to_end()) return;
      wanted[i]->estimate = estimate(problem_, wanted[i]->choice);
      wanted[i]->over_all_steps = true;
    });
    return !wanted.empty() && !has_to_end();
  }

  ChoiceEstimate estimate(const PlanningProblem& problem, const PlanChoice& choice) {
    return estimate_choice(problem, tried_.workload_of(choice), choice);
  }

  /// Adds variants of the best choices with found schedules, and sorts them in.
  void find() {
    std::vector<Candidate> found = found_candidates(problem_, common_.workloads, candidates_);
    // At the end, so that the stable sort lets them win no tie.
    candidates_.insert(candidates_.end(), found.begin(), found.end());
    std::ranges::stable_sort(candidates_, {}, [&](const Candidate& candidate) {
      const bool requested = !problem_.search.finds_only || !candidate.choice.actions.empty();
      return std::pair(!requested, seconds_per_audio_second(candidate));
    });
  }

  void sort() { std::ranges::stable_sort(candidates_, {}, seconds_per_audio_second); }

  /// Simulates the best few with the other Barrier than the problem's.
  void compare_barriers() {
    PlanningProblem other = problem_;
    other.constraints.barrier =
        problem_.constraints.barrier == Barrier::none ? Barrier::before_step : Barrier::none;
    parallel_for(std::min(kLimits.refined, candidates_.size()), problem_.search.threads,
                 [&](std::size_t i) {
                   Candidate& candidate = candidates_[i];
                   if (candidate.estimate && candidate.choice.slots() > 1 && !has_to_end())
                     candidate.other_barrier_s = estimate(other, candidate.choice).step_seconds;
                 });
  }

  /// Simulates choices that lack memory as if they had it. The closed form alone does not show
  /// whether they would be faster.
  void simulate_lacking() {
    std::vector<Candidate*> lacking;
    for (Candidate& candidate : candidates_)
      if (candidate.lacks && !candidate.choice.begin.empty()) lacking.push_back(&candidate);
    std::ranges::stable_sort(
        lacking, {}, [](const Candidate* one) { return one->closed_form / one->audio_seconds; });
    parallel_for(std::min(kLimits.roomy, lacking.size()), problem_.search.threads,
                 [&](std::size_t i) {
                   if (!has_to_end())
                     lacking[i]->speed_with_memory = estimate(problem_, lacking[i]->choice).speed();
                 });
  }

  /// True if the best choice would have a cut that is faster by simulation, were memory unlimited.
  bool memory_shapes(const Candidate& best) {
    if (!best.memory_bound || problem_.search.is_quick) return false;
    PlanningProblem roomy = problem_;
    for (Device& device : roomy.cluster.devices) device.memory = kInfeasible;
    PlanChoice choice = best.choice;
    choice.begin = cut_choice(roomy, tried_.workload_of(choice), choice).begin;
    return estimate(problem_, choice).speed() * seconds_per_audio_second(best) > 1 + kSameStep;
  }

  Decision finish() {
    const Candidate& best = candidates_.front();
    Decision decision{.choice = best.choice, .estimate = *best.estimate};
    decision.workload = tried_.workload_of(best.choice);
    decision.slots = StageMemory(problem_, best.choice).slots(best.choice.begin);
    decision.offloaded = offloaded_bytes(problem_, best.choice);
    decision.lower_bound = bound_of_pace() * best.estimate->audio_seconds;
    Candidate named = best;
    named.memory_bound = memory_shapes(best);
    decision.bottleneck = bottleneck_of(named, candidates_);
    for (Candidate& candidate : candidates_) {
      if (&candidate == &best || !candidate.estimate) continue;
      candidate.why = why_slower(best, candidate);
    }
    decision.candidates = candidates_;
    return decision;
  }

  /// Returns a lower bound on seconds per second of audio, for any choice. It is the larger of two:
  /// a step's work spread over all devices that may be used, and the longest micro-batch's forward
  /// and input gradients on the fastest device.
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
    for (const BatchChoice& batch : problem_.constraints.batches) {
      const Workload& workload = common_.workloads.of(batch, 1);
      const double seconds = std::max(workload.work / sum, workload.longest / speeds.front());
      min = std::min(min, seconds / workload.audio_seconds);
    }
    return min;
  }

  const PlanningProblem& problem_;
  const Moves moves_ = quick_moves(problem_);
  TriedChoices::Common common_;
  TriedChoices tried_;
  std::vector<Candidate>& candidates_ = tried_.candidates();
};

}  // namespace

Decision decide(const PlanningProblem& problem) { return Decider(problem).decide(); }

}  // namespace penstock::partition
