#include "partition/planner/choose/tried_choices.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/plan/planner.h"

namespace penstock::partition {
TriedChoices TriedChoices::beside(const TriedChoices& others) {
  TriedChoices none(others.common_);
  none.best_closed_ = others.best_closed_;
  return none;
}

void TriedChoices::add(TriedChoices other) {
  std::ranges::move(other.candidates_, std::back_inserter(candidates_));
  best_closed_ = std::min(best_closed_, other.best_closed_);
}

bool TriedChoices::found() const { return best_closed_ < kInfeasible; }

bool TriedChoices::is_hopeless(double closed_form) const {
  const double wide = problem().constraints.barrier == Barrier::none
                          ? kLimits.closed_form_without_barrier
                          : kLimits.closed_form;
  return closed_form > wide * best_closed_;
}

void TriedChoices::try_with_what_memory_asks(const PlanChoice& choice) {
  if (!consider(choice, Recomputing::as_chosen)) return;
  if (!problem().constraints.shards_optimizer && choice.replicas > 1) {
    PlanChoice sharded = choice;
    sharded.shards_optimizer = true;
    const bool binds = consider(sharded, Recomputing::as_chosen);
    if (!binds && sharding_takes(candidates_.back()) <= 0) return;
    if (binds) {
      recompute(sharded);
      offload(sharded);
    }
  }
  recompute(choice);
  offload(choice);
}

/// Tries fewer and fewer resident micro-batches, until memory no longer binds.
void TriedChoices::offload(const PlanChoice& choice) {
  if (problem().constraints.resident) return;
  for (const int resident : kLimits.resident) {
    PlanChoice offloading = choice;
    offloading.resident = resident;
    if (offloads(offloading) && !consider(offloading, Recomputing::as_chosen)) return;
  }
}

/// True if the choice's schedule has any offload.
bool TriedChoices::offloads(const PlanChoice& choice) const {
  const int lanes =
      problem().constraints.max_replicas > 0 ? problem().constraints.max_replicas : choice.replicas;
  const Schedule lists =
      schedule_of(choice, problem().known_schedules)
          .of(micro_batches_per_replica(choice.batch.micro_batches, lanes, choice.replicas));
  const auto leaves = [](const Action& action) { return action.kind == ActionKind::offload; };
  return std::ranges::any_of(lists.ranks,
                             [&](const auto& list) { return std::ranges::any_of(list, leaves); });
}

/// Tries recomputation within layers, of whole layers instead, and of both if memory still binds
/// with the former. Does nothing if the problem fixes the recomputed layers.
void TriedChoices::recompute(const PlanChoice& choice) {
  if (problem().constraints.recomputed) return;
  PlanChoice within = choice;
  within.selective = problem().training.selective_costs != nullptr;
  if (within.selective && consider(within, Recomputing::as_chosen))
    consider(within, Recomputing::free);
  consider(choice, Recomputing::free);
}

/// Cuts a choice, and records and simulates it. Returns true if memory keeps it from a faster cut
/// that may be the best.
bool TriedChoices::consider(const PlanChoice& wanted, Recomputing recomputing) {
  const Workload& workload = workload_of(wanted);
  ChosenCut cut =
      cut_choice(problem(), workload, wanted, recomputing,
                 {estimator_of(workload), common_.cuts, found() ? problem().search.time : nullptr});
  if (cut.ended && !cut.fits) return false;  // it may fit, but another choice does
  // A variant that does not fit, or needs no recomputation, adds nothing to the choice itself.
  const bool none = std::ranges::count(cut.recomputed, true) == 0;
  const bool more = recomputing == Recomputing::free ||
                    wanted.selective != problem().constraints.selective ||
                    offloads_besides(wanted) || is_sharded_besides(wanted);
  if (more && !cut.fits) return true;
  if (recomputing == Recomputing::free && none) return true;
  Candidate& candidate = candidates_.emplace_back(Candidate{wanted});
  PlanChoice& choice = candidate.choice;
  candidate.audio_seconds = workload.audio_seconds;
  candidate.closed_form = cut.closed_form;
  choice.begin = std::move(cut.begin);
  choice.recomputed = std::move(cut.recomputed);
  choice.recompute_exact = cut.recompute_exact;
  if (!cut.fits) {
    candidate.lacks = LackingMemory{cut.lacking_stage, cut.lacking_bytes};
    candidate.why = "memory: " + describe(*candidate.lacks);
    return !is_hopeless(cut.min_closed_form / workload.audio_seconds);
  }
  candidate.memory_bound = cut.memory_bound;
  candidate.estimate = cut.estimate ? std::move(cut.estimate) : estimate(choice, 1);
  const double min = choice.resident > 0  // the closed form ignores copies to the host
                         ? std::max(candidate.closed_form, candidate.estimate->step_seconds)
                         : candidate.closed_form;
  best_closed_ = std::min(best_closed_, min / workload.audio_seconds);
  return cut.memory_bound && !is_hopeless(cut.min_closed_form / workload.audio_seconds);
}

bool TriedChoices::offloads_besides(const PlanChoice& choice) const {
  return choice.resident != problem().constraints.resident.value_or(0);
}

bool TriedChoices::is_sharded_besides(const PlanChoice& choice) const {
  return choice.shards_optimizer && !problem().constraints.shards_optimizer;
}

/// Returns the seconds that the sharded update adds to a step; negative if it is faster. Returns 0
/// if the choice was not simulated.
double TriedChoices::sharding_takes(const Candidate& sharded) {
  if (!sharded.estimate || !sharded.choice.shards_optimizer) return 0;
  PlanChoice whole = sharded.choice;
  whole.shards_optimizer = false;
  return sharded.estimate->step_seconds - estimate(whole, 1).step_seconds;
}

const Workload& TriedChoices::workload_of(const PlanChoice& choice) {
  return common_.workloads.of(choice.batch, choice.replicas, choice.selective);
}

ChoiceEstimate TriedChoices::estimate(const PlanChoice& choice, std::size_t max_steps) {
  return estimator_of(workload_of(choice)).estimate(choice, max_steps);
}

ChoiceEstimator& TriedChoices::estimator_of(const Workload& workload) {
  return estimators_.try_emplace(&workload, problem(), workload).first->second;
}

}  // namespace penstock::partition
