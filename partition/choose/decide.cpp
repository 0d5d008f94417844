#include "partition/choose/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "configs/config.h"
#include "partition/choose/cut_choice.h"
#include "partition/choose/find_choice.h"
#include "partition/choose/infeasible_plan.h"
#include "partition/choose/memory_bound.h"
#include "partition/choose/proposals.h"
#include "partition/choose/reasons.h"
#include "partition/choose/refine_choice.h"
#include "partition/choose/stage_memory.h"
#include "partition/cut/limits.h"
#include "partition/plan/planner.h"

namespace penstock::partition {
namespace {

// Of the best closed form, by which simulation differs by no more; without a barrier, steps overlap
// by up to a pipeline's filling, which the closed form counts.
constexpr double kWide = 1.5, kWideWithoutBarrier = 3;
constexpr std::size_t kMostPlaced = 48;  // proposals
constexpr std::size_t kExplained = 4;    // of those that can't fit
// Of the best, by which one sampled step is taken to differ from all of them.
constexpr double kWideOfOneStep = 1.25;
constexpr std::size_t kRefined = 12, kRefinedOffloads = 4;
// Of the best refined step, by which moving boundaries is taken to shorten none; exchanging devices
// may shorten more.
constexpr double kWideOfRefined = 1.03;
constexpr std::size_t kMostFound = 4;  // choices for which lists are sought

class Decider {
 public:
  explicit Decider(const PlanningProblem& problem) : problem_(problem), workloads_(problem) {}

  Decision decide() {
    const std::size_t untried = try_all(proposals(problem_, workloads_));
    if (!found()) throw_infeasible_plan(problem_, alternatives_, untried);
    if (problem_.is_quick) {
      sort();
      shard();
      return finish();
    }
    weigh();
    if (problem_.finds) find();
    compare_barriers();
    return finish();
  }

 private:
  using Proposals = std::vector<Proposal>;  // in the order in which they are tried

  bool found() const { return best_closed_ < kNever; }

  /// Whether there is a choice, and no time for another.
  bool has_to_end() const { return found() && is_over(problem_.time); }

  /// The lowest bounds first and, where none of these fits, those that leave most room until one
  /// does. Returns how many may fit, but were not tried; 0 unless something fits, or time is over.
  std::size_t try_all(const Proposals& all) {
    MemoryBound memory(problem_);
    Proposals left, refuted;
    std::ranges::partition_copy(all, std::back_inserter(left), std::back_inserter(refuted),
                                [&](const Proposal& one) { return memory.can_fit(one); });
    const auto fullness = [&](const Proposal& one) { return memory.fullness(one.batch, one.grid); };
    left = try_some(left, kMostPlaced);
    if (!found()) {
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

  /// Returns those that were not: behind `most` of them, or with a hopeless bound.
  Proposals try_some(const Proposals& some, std::size_t most, bool until_found = false) {
    Proposals left;
    std::size_t placed = 0;
    for (const Proposal& proposal : some) {
      const bool enough = placed == most || (until_found && (found() || is_over(problem_.time)));
      if (enough || is_hopeless(proposal.bound) || has_to_end()) {
        left.push_back(proposal);
        continue;
      }
      ++placed;
      try_schedules(proposal, [&](const PlanChoice& choice) { consider(choice); });
    }
    return left;
  }

  /// What the first that can't fit would take and lack, as far as they may be faster than what
  /// does.
  void explain(const Proposals& refuted) {
    std::size_t explained = 0;
    for (const Proposal& proposal : refuted) {
      if (explained == kExplained || is_hopeless(proposal.bound) || has_to_end()) {
        leave_out(proposal, "its parameters alone need more memory");
        continue;
      }
      ++explained;
      try_schedules(proposal,
                    [&](const PlanChoice& choice) { consider(choice, Recomputing::as_chosen); });
    }
  }

  /// Calls visit(choice) for each placement and schedule of which the model has enough layers.
  template <class Visit>
  void try_schedules(const Proposal& proposal, Visit visit) {
    const Workload& workload = workloads_.of(proposal.batch, proposal.grid.replicas);
    for (const Placement& devices : placements(problem_, workload, proposal))
      for (const std::string& schedule : problem_.schedules) {
        if (has_to_end()) break;
        const PlanChoice choice = choice_of(proposal, devices, schedule);
        if (std::ssize(ranks_of_chunks(choice)) <= problem_.sequence->size())
          visit(choice);
        else
          alternatives_.push_back({.choice = choice, .why = "more chunks than layers"});
        if (proposal.grid.stages == 1) break;  // they are all alike
      }
  }

  /// Whether a choice of that closed form, for a second of audio, is too slow to be the best.
  bool is_hopeless(double closed_form) const {
    const double wide = problem_.barrier == Barrier::none ? kWideWithoutBarrier : kWide;
    return closed_form > wide * best_closed_;
  }

  void leave_out(const Proposal& proposal, const char* why) {
    const double audio = workloads_.of(proposal.batch, 1).audio_seconds;
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

  /// Where the problem says so: one replica has nobody to share with.
  bool shards(const Grid& grid) const {
    return problem_.shards_optimizer.value_or(false) && grid.replicas > 1;
  }

  /// Where memory binds, also with a sharded optimizer and, unless sharding alone makes room and
  /// takes no time, with recomputation, or with offload instead.
  void consider(const PlanChoice& choice) {
    if (!consider(choice, Recomputing::as_chosen)) return;
    if (!problem_.shards_optimizer && choice.replicas > 1) {
      PlanChoice sharded = choice;
      sharded.shards_optimizer = true;
      const bool binds = consider(sharded, Recomputing::as_chosen);
      if (!binds && sharding_takes(alternatives_.back()) <= 0) return;
      if (binds) {
        recompute(sharded);
        offload(sharded);
      }
    }
    recompute(choice);
    offload(choice);
  }

  /// The more stays on the device the better, until all that is wanted fits.
  void offload(const PlanChoice& choice) {
    if (problem_.resident) return;
    for (const int resident : {4, 3, 2}) {
      PlanChoice offloading = choice;
      offloading.resident = resident;
      if (offloads(offloading) && !consider(offloading, Recomputing::as_chosen)) return;
    }
  }

  /// Whether anything leaves for the host.
  bool offloads(const PlanChoice& choice) const {
    const int lanes = problem_.most_replicas > 0 ? problem_.most_replicas : choice.replicas;
    const Schedule lists =
        schedule_of(choice, problem_.known_schedules)
            .of(micro_batches_per_replica(choice.batch.micro_batches, lanes, choice.replicas));
    const auto leaves = [](const Action& action) { return action.kind == ActionKind::offload; };
    return std::ranges::any_of(lists.ranks,
                               [&](const auto& list) { return std::ranges::any_of(list, leaves); });
  }

  /// Unless the problem says which: within layers, and of whole layers instead or, where memory
  /// still binds, besides.
  void recompute(const PlanChoice& choice) {
    if (problem_.recomputed) return;
    PlanChoice within = choice;
    within.selective = problem_.selective_costs != nullptr;
    if (within.selective && consider(within, Recomputing::as_chosen))
      consider(within, Recomputing::free);
    consider(choice, Recomputing::free);
  }

  /// Whether memory keeps it from a faster cut, with which it may be the best.
  bool consider(const PlanChoice& wanted, Recomputing recomputing) {
    const Workload& workload = workload_of(wanted);
    ChosenCut cut =
        cut_choice(problem_, workload, wanted, recomputing, {estimator_of(workload), known_cuts_});
    // Without recomputation it was considered before, and nothing is to be said of its memory.
    const bool none = std::ranges::count(cut.recomputed, true) == 0;
    const bool more = recomputing == Recomputing::free || wanted.selective != problem_.selective ||
                      offloads_besides(wanted) || is_sharded_besides(wanted);
    if (more && !cut.fits) return true;
    if (recomputing == Recomputing::free && none) return true;
    Alternative& alternative = alternatives_.emplace_back(Alternative{wanted});
    PlanChoice& choice = alternative.choice;
    alternative.audio_seconds = workload.audio_seconds;
    alternative.closed_form = cut.closed_form;
    choice.begin = std::move(cut.begin);
    choice.recomputed = std::move(cut.recomputed);
    choice.recompute_exact = cut.recompute_exact;
    if (!cut.fits) {
      alternative.lacks = LackingMemory{cut.lacking_stage, cut.lacking_bytes};
      alternative.why = "memory: " + describe(*alternative.lacks);
      return !is_hopeless(cut.least_closed_form / workload.audio_seconds);
    }
    alternative.memory_bound = cut.memory_bound;
    alternative.estimate = cut.estimate ? std::move(cut.estimate) : estimate(choice, 1);
    const double least = choice.resident > 0  // the closed form knows no copies
                             ? std::max(alternative.closed_form, alternative.estimate->step_seconds)
                             : alternative.closed_form;
    best_closed_ = std::min(best_closed_, least / workload.audio_seconds);
    return cut.memory_bound && !is_hopeless(cut.least_closed_form / workload.audio_seconds);
  }

  bool offloads_besides(const PlanChoice& choice) const {
    return choice.resident != problem_.resident.value_or(0);
  }

  bool is_sharded_besides(const PlanChoice& choice) const {
    return choice.shards_optimizer && !problem_.shards_optimizer;
  }

  /// Seconds of a step more, or below 0 less, than if each replica updated everything; 0 where it
  /// was not simulated.
  double sharding_takes(const Alternative& sharded) {
    if (!sharded.estimate || !sharded.choice.shards_optimizer) return 0;
    PlanChoice whole = sharded.choice;
    whole.shards_optimizer = false;
    return sharded.estimate->step_seconds - estimate(whole, 1).step_seconds;
  }

  /// Those that may become the best by it once more with a sharded optimizer, where that is faster.
  void shard() {
    if (problem_.shards_optimizer) return;
    std::vector<Alternative> faster;
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      const Alternative& whole = alternatives_[i];
      if (!whole.estimate || has_to_end()) break;
      if (whole.choice.replicas == 1 || whole.choice.shards_optimizer) continue;
      const double update = longest_update(problem_, workload_of(whole.choice), whole.choice);
      if (pace_of(whole) - update / whole.audio_seconds > pace_of(alternatives_.front())) continue;
      Alternative sharded = whole;
      sharded.choice.shards_optimizer = true;
      if (StageMemory(problem_, sharded.choice).too_full(sharded.choice.begin)) continue;
      sharded.estimate = estimate(sharded.choice, 1);
      if (pace_of(sharded) < pace_of(whole)) faster.push_back(std::move(sharded));
    }
    alternatives_.insert(alternatives_.end(), faster.begin(), faster.end());
    sort();
  }

  const Workload& workload_of(const PlanChoice& choice) {
    return workloads_.of(choice.batch, choice.replicas, choice.selective);
  }

  ChoiceEstimate estimate(const PlanChoice& choice, std::size_t most_steps = 1000) {
    return estimator_of(workload_of(choice)).estimate(choice, most_steps);
  }

  ChoiceEstimator& estimator_of(const Workload& workload) {
    return estimators_.try_emplace(&workload, problem_, workload).first->second;
  }

  /// All that may be the best over all sampled steps, and the best few of them refined.
  void weigh() {
    sort();
    shard();
    while (simulate_all_steps()) sort();
    double refined_pace = kNever;
    Few few;
    for (Alternative& alternative : alternatives_) {
      if (!alternative.estimate || has_to_end()) break;
      if (!is_among(few, alternative.choice)) continue;
      const ChoiceRefiner refiner(problem_, workload_of(alternative.choice));
      if (!refiner.exchanges() && pace_of(alternative) > kWideOfRefined * refined_pace) break;
      RankedChoice refined{std::move(alternative.choice), *alternative.estimate};
      refiner.refine(refined);
      alternative.choice = std::move(refined.choice);
      alternative.estimate = std::move(refined.estimate);
      refined_pace = std::min(refined_pace, pace_of(alternative));
    }
    sort();
  }

  /// Of the best, those that were counted so far.
  struct Few {
    std::size_t offloading = 0, others = 0;
  };

  /// Whether the next best is among the best few. What offloads besides takes no place of others.
  bool is_among(Few& few, const PlanChoice& choice) const {
    if (offloads_besides(choice)) return few.offloading++ < kRefinedOffloads;
    return few.others++ < kRefined;
  }

  /// Of the best few, and of those that come near the best one. Whether an estimate changed.
  bool simulate_all_steps() {
    const double wide = kWideOfOneStep * pace_of(alternatives_.front());
    bool changed = false;
    Few few;
    for (Alternative& alternative : alternatives_) {
      if (!alternative.estimate) break;
      if (!is_among(few, alternative.choice) && pace_of(alternative) > wide) continue;
      if (has_to_end()) return false;
      if (alternative.over_all_steps) continue;
      alternative.estimate = estimate(alternative.choice);
      changed = alternative.over_all_steps = true;
    }
    return changed;
  }

  /// Lists and an order of their own for the best choices.
  void find() {
    std::vector<Alternative> found;
    for (const Alternative& alternative : alternatives_) {
      if (!alternative.estimate || found.size() == kMostFound) break;
      if (has_to_end() && (!problem_.finds_only || !found.empty())) break;
      if (alternative.choice.stages == 1 && !problem_.finds_only) continue;
      const auto same = [&](const Alternative& other) {
        return other.choice.devices == alternative.choice.devices &&
               other.choice.begin == alternative.choice.begin &&
               ranks_of_chunks(other.choice) == ranks_of_chunks(alternative.choice) &&
               other.choice.batch.micro_batches == alternative.choice.batch.micro_batches;
      };
      if (std::ranges::any_of(found, same)) continue;
      const auto choice = find_choice(problem_, workloads_, alternative.choice);
      if (!choice) continue;
      found.push_back(alternative);
      found.back().choice = *choice;
      found.back().estimate = estimate(*choice);
    }
    alternatives_.insert(alternatives_.end(), found.begin(), found.end());  // they win no tie
    std::ranges::stable_sort(alternatives_, {}, [&](const Alternative& alternative) {
      const bool requested = !problem_.finds_only || !alternative.choice.actions.empty();
      return std::pair(!requested, pace_of(alternative));
    });
  }

  void sort() { std::ranges::stable_sort(alternatives_, {}, pace_of); }

  void compare_barriers() {
    PlanningProblem other = problem_;
    other.barrier = problem_.barrier == Barrier::none ? Barrier::before_step : Barrier::none;
    for (std::size_t i = 0; i < std::min(kRefined, alternatives_.size()); ++i) {
      Alternative& alternative = alternatives_[i];
      if (alternative.estimate && alternative.choice.slots() > 1 && !has_to_end())
        alternative.other_barrier_s =
            estimate_choice(other, workload_of(alternative.choice), alternative.choice)
                .step_seconds;
    }
  }

  Decision finish() {
    const Alternative& best = alternatives_.front();
    Decision decision{.choice = best.choice, .estimate = *best.estimate};
    decision.workload = workload_of(best.choice);
    decision.slots = StageMemory(problem_, best.choice).slots(best.choice.begin);
    decision.offloaded = offloaded_bytes(problem_, best.choice);
    decision.lower_bound = bound_of_pace() * best.estimate->audio_seconds;
    decision.bottleneck = bottleneck_of(best, alternatives_);
    for (Alternative& alternative : alternatives_) {
      if (&alternative == &best || !alternative.estimate) continue;
      alternative.why = why_slower(best, alternative);
    }
    decision.alternatives = alternatives_;
    return decision;
  }

  /// Work of a step spread over the fastest devices, and its longest micro-batch's way to
  /// the loss and back on the fastest.
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
      const Workload& workload = workloads_.of(batch, 1);
      const double seconds = std::max(workload.work / sum, workload.longest / speeds.front());
      least = std::min(least, seconds / workload.audio_seconds);
    }
    return least;
  }

  const PlanningProblem& problem_;
  Workloads workloads_;
  std::map<const Workload*, ChoiceEstimator> estimators_;
  KnownCuts known_cuts_;
  std::vector<Alternative> alternatives_;
  double best_closed_ = kNever;  // of those that fit, for a second of audio
};

}  // namespace

Decision decide(const PlanningProblem& problem) { return Decider(problem).decide(); }

}  // namespace penstock::partition
