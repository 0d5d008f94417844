#include "partition/choose/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel_for.h"
#include "configs/config.h"
#include "partition/choose/found_alternatives.h"
#include "partition/choose/infeasible_plan.h"
#include "partition/choose/memory_bound.h"
#include "partition/choose/proposals.h"
#include "partition/choose/reasons.h"
#include "partition/choose/refine_choice.h"
#include "partition/choose/stage_memory.h"
#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMostPlaced = 48;  // proposals that are placed
constexpr std::size_t kExplained = 4;    // proposals that can't fit, for which the lack is computed
// A choice may be the best over all sampled steps if its first step is within this factor of the
// best. The factor is an assumption.
constexpr double kWideOfOneStep = 1.25;
constexpr std::size_t kRefined = 12, kRefinedOffloads = 4;
// Moving boundaries is assumed to shorten no step by more than this factor. Exchanging devices may
// shorten it more.
constexpr double kWideOfRefined = 1.03;
constexpr std::size_t kSettled = 4;
constexpr std::size_t kRoomy = 32;  // choices that lack memory and are simulated, by closed form
// Size of a round: proposals, or choices to be refined, that threads work on at once. Each is
// judged by the results of earlier rounds only, so the number of threads changes no decision.
constexpr std::size_t kTriedAtOnce = 8, kRefinedAtOnce = 4;

// A best-first search over (batch, stages, replicas, devices, schedule, cut, memory measures), in
// stages of rising cost. Cheap bounds and the closed form shortlist choices; the event simulator
// ranks them; local search refines the best few. The shortlist is heuristic: the factors 1.5
// (TriedChoices), 1.25 and 1.03 by which estimates may be wrong are assumptions. Invariant: after
// sort(), alternatives_ is in the order of pace, and those that were not simulated come last.
// See docs/design/planner.md for what is exact.
class Decider {
 public:
  explicit Decider(const PlanningProblem& problem)
      : problem_(problem), common_(problem), tried_(common_) {}

  Decision decide() {
    const std::size_t untried = try_all(proposals(problem_, common_.workloads));
    if (!tried_.found()) throw_infeasible_plan(problem_, alternatives_, untried);
    if (problem_.is_quick) {
      sort();
      shard();
      return finish();
    }
    weigh();
    if (problem_.finds) find();
    compare_barriers();
    simulate_lacking();
    return finish();
  }

 private:
  using Proposals = std::vector<Proposal>;  // in the order of trial

  /// True if a choice was found and the time limit is over.
  bool has_to_end() const { return has_to_end(tried_); }
  bool has_to_end(const TriedChoices& tried) const {
    return tried.found() && is_over(problem_.time);
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
    left = try_some(left, kMostPlaced);
    if (!tried_.found()) {
      std::ranges::stable_sort(left, {}, fullness);
      left = try_some(left, left.size(), true);
      std::ranges::stable_sort(left, {}, &Proposal::bound);
      left = try_some(left, kMostPlaced);
    }
    for (const Proposal& proposal : left) leave_out(proposal, "lower bound from the closed form");
    if (alternatives_.empty()) std::ranges::stable_sort(refuted, {}, fullness);
    explain(refuted);
    return left.size();
  }

  /// Tries at most `most` proposals. Returns the others: those with a hopeless bound, and those for
  /// which no number or time was left.
  Proposals try_some(const Proposals& some, std::size_t most, bool until_found = false) {
    Proposals left;
    std::size_t placed = 0;
    for (auto next = some.begin(); next != some.end();) {
      // Until something fits, rounds have one proposal, so that a time limit ends at the first fit.
      const std::size_t room = until_found || !tried_.found() ? 1 : kTriedAtOnce;
      Proposals round;
      for (; next != some.end() && round.size() < room; ++next) {
        const bool enough =
            placed == most || (until_found && (tried_.found() || is_over(problem_.time)));
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
    parallel_for(round.size(), problem_.threads, [&](std::size_t i) {
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
      if (explained == kExplained || tried_.is_hopeless(proposal.bound) || has_to_end()) {
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
      for (const std::string& schedule : problem_.schedules) {
        if (has_to_end(tried)) break;
        const PlanChoice choice = choice_of(proposal, devices, schedule);
        if (std::ssize(ranks_of_chunks(choice)) <= problem_.sequence->size())
          visit(choice);
        else
          tried.alternatives().push_back({.choice = choice, .why = "more chunks than layers"});
        if (proposal.grid.stages == 1) break;  // all schedules are alike on one stage
      }
  }

  void leave_out(const Proposal& proposal, const char* why) {
    const double audio = common_.workloads.of(proposal.batch, 1).audio_seconds;
    alternatives_.push_back({.choice = choice_of(proposal, {}, ""),
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
            .recomputed = problem_.recomputed.value_or(ChosenLayers()),
            .selective = problem_.selective,
            .resident = problem_.resident.value_or(0),
            .shards_optimizer = shards(proposal.grid),
            .devices = devices};
  }

  /// True if the problem asks for a sharded optimizer and there is more than one replica.
  bool shards(const Grid& grid) const {
    return problem_.shards_optimizer.value_or(false) && grid.replicas > 1;
  }

  /// Adds variants with a sharded optimizer of choices that may become the best by it, if they are
  /// faster. A choice can't become the best if even a free update would not suffice.
  void shard() {
    if (problem_.shards_optimizer) return;
    std::vector<Alternative> faster;
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      const Alternative& whole = alternatives_[i];
      if (!whole.estimate || has_to_end()) break;
      if (whole.choice.replicas == 1 || whole.choice.shards_optimizer) continue;
      const double update =
          longest_update(problem_, tried_.workload_of(whole.choice), whole.choice);
      if (pace_of(whole) - update / whole.audio_seconds > pace_of(alternatives_.front())) continue;
      Alternative sharded = whole;
      sharded.choice.shards_optimizer = true;
      if (StageMemory(problem_, sharded.choice).too_full(sharded.choice.begin)) continue;
      sharded.estimate = tried_.estimate(sharded.choice, 1);
      if (pace_of(sharded) < pace_of(whole)) faster.push_back(std::move(sharded));
    }
    alternatives_.insert(alternatives_.end(), faster.begin(), faster.end());
    sort();
  }

  /// Simulates all choices that may be the best over all sampled steps, and refines the best few.
  void weigh() {
    sort();
    shard();
    while (simulate_all_steps()) sort();
    refine_best();
    sort();
    settle_best();
    sort();
  }

  /// Refines the best few, round by round, until no other may become the best.
  void refine_best() {
    double refined_pace = kNever;
    Few few;
    for (auto next = alternatives_.begin(); next != alternatives_.end();) {
      std::vector<Alternative*> round;
      for (; next != alternatives_.end() && round.size() < kRefinedAtOnce; ++next) {
        if (!may_become_best(*next, refined_pace) || has_to_end()) {
          next = alternatives_.end();
          break;
        }
        if (is_among(few, next->choice)) round.push_back(&*next);
      }
      parallel_for(round.size(), problem_.threads, [&](std::size_t i) {
        change(*round[i], moves_,
               [](const ChoiceRefiner& refiner, RankedChoice& one) { refiner.refine(one); });
      });
      for (const Alternative* one : round) refined_pace = std::min(refined_pace, pace_of(*one));
    }
  }

  /// True if refinement may make the choice the best, given the best pace after refinement so far.
  bool may_become_best(const Alternative& alternative, double refined_pace) const {
    return alternative.estimate && (exchanges_devices(problem_.cluster) ||
                                    pace_of(alternative) <= kWideOfRefined * refined_pace);
  }

  /// Tries all moves of boundaries for the best few, if refinement left some out.
  void settle_best() {
    if (moves_ == Moves::all) return;
    parallel_for(std::min(kSettled, alternatives_.size()), problem_.threads, [&](std::size_t i) {
      if (alternatives_[i].estimate && !has_to_end())
        change(alternatives_[i], Moves::all, [](const ChoiceRefiner& refiner, RankedChoice& one) {
          while (refiner.move_boundaries(one)) {
          }
        });
    });
  }

  /// Applies how(refiner, choice) to an alternative in place.
  template <class How>
  void change(Alternative& alternative, Moves moves, How how) {
    RankedChoice changed{std::move(alternative.choice), *alternative.estimate};
    how(ChoiceRefiner(problem_, tried_.workload_of(changed.choice), moves), changed);
    alternative.choice = std::move(changed.choice);
    alternative.estimate = std::move(changed.estimate);
  }

  /// Numbers of best choices that were taken so far.
  struct Few {
    std::size_t offloading = 0, others = 0;
  };

  /// Counts the next best choice, and returns true if it is among the best few. Choices that
  /// offload without being asked to have a quota of their own.
  bool is_among(Few& few, const PlanChoice& choice) const {
    if (tried_.offloads_besides(choice)) return few.offloading++ < kRefinedOffloads;
    return few.others++ < kRefined;
  }

  /// Simulates the best few, and all that come near the best, over all sampled steps. Returns true
  /// if an estimate changed and there is time for more.
  bool simulate_all_steps() {
    const double wide = kWideOfOneStep * pace_of(alternatives_.front());
    std::vector<Alternative*> wanted;
    Few few;
    for (Alternative& alternative : alternatives_) {
      if (!alternative.estimate) break;
      if (!is_among(few, alternative.choice) && pace_of(alternative) > wide) continue;
      if (!alternative.over_all_steps) wanted.push_back(&alternative);
    }
    parallel_for(wanted.size(), problem_.threads, [&](std::size_t i) {
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
    std::vector<Alternative> found = found_alternatives(problem_, common_.workloads, alternatives_);
    // At the end, so that the stable sort lets them win no tie.
    alternatives_.insert(alternatives_.end(), found.begin(), found.end());
    std::ranges::stable_sort(alternatives_, {}, [&](const Alternative& alternative) {
      const bool requested = !problem_.finds_only || !alternative.choice.actions.empty();
      return std::pair(!requested, pace_of(alternative));
    });
  }

  void sort() { std::ranges::stable_sort(alternatives_, {}, pace_of); }

  /// Simulates the best few with the other Barrier than the problem's.
  void compare_barriers() {
    PlanningProblem other = problem_;
    other.barrier = problem_.barrier == Barrier::none ? Barrier::before_step : Barrier::none;
    parallel_for(std::min(kRefined, alternatives_.size()), problem_.threads, [&](std::size_t i) {
      Alternative& alternative = alternatives_[i];
      if (alternative.estimate && alternative.choice.slots() > 1 && !has_to_end())
        alternative.other_barrier_s = estimate(other, alternative.choice).step_seconds;
    });
  }

  /// Simulates choices that lack memory as if they had it. The closed form alone does not show
  /// whether they would be faster.
  void simulate_lacking() {
    std::vector<Alternative*> lacking;
    for (Alternative& alternative : alternatives_)
      if (alternative.lacks && !alternative.choice.begin.empty()) lacking.push_back(&alternative);
    std::ranges::stable_sort(
        lacking, {}, [](const Alternative* one) { return one->closed_form / one->audio_seconds; });
    parallel_for(std::min(kRoomy, lacking.size()), problem_.threads, [&](std::size_t i) {
      if (!has_to_end()) lacking[i]->roomy_speed = estimate(problem_, lacking[i]->choice).speed();
    });
  }

  /// True if the best choice would have a cut that is faster by simulation, were memory unlimited.
  bool memory_shapes(const Alternative& best) {
    if (!best.memory_bound || problem_.is_quick) return false;
    PlanningProblem roomy = problem_;
    for (Device& device : roomy.cluster.devices) device.memory = kNever;
    PlanChoice choice = best.choice;
    choice.begin = cut_choice(roomy, tried_.workload_of(choice), choice).begin;
    return estimate(problem_, choice).speed() * pace_of(best) > 1 + kSameStep;
  }

  Decision finish() {
    const Alternative& best = alternatives_.front();
    Decision decision{.choice = best.choice, .estimate = *best.estimate};
    decision.workload = tried_.workload_of(best.choice);
    decision.slots = StageMemory(problem_, best.choice).slots(best.choice.begin);
    decision.offloaded = offloaded_bytes(problem_, best.choice);
    decision.lower_bound = bound_of_pace() * best.estimate->audio_seconds;
    Alternative named = best;
    named.memory_bound = memory_shapes(best);
    decision.bottleneck = bottleneck_of(named, alternatives_);
    for (Alternative& alternative : alternatives_) {
      if (&alternative == &best || !alternative.estimate) continue;
      alternative.why = why_slower(best, alternative);
    }
    decision.alternatives = alternatives_;
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
    if (problem_.stages > 0 && problem_.replicas > 0)
      used = std::min<std::size_t>(used, problem_.stages * problem_.replicas);
    const double sum = std::accumulate(speeds.begin(), speeds.begin() + used, 0.0);
    double least = kNever;
    for (const BatchChoice& batch : problem_.batches) {
      const Workload& workload = common_.workloads.of(batch, 1);
      const double seconds = std::max(workload.work / sum, workload.longest / speeds.front());
      least = std::min(least, seconds / workload.audio_seconds);
    }
    return least;
  }

  const PlanningProblem& problem_;
  const Moves moves_ = quick_moves(problem_);
  TriedChoices::Common common_;
  TriedChoices tried_;
  std::vector<Alternative>& alternatives_ = tried_.alternatives();
};

}  // namespace

Decision decide(const PlanningProblem& problem) { return Decider(problem).decide(); }

}  // namespace penstock::partition
