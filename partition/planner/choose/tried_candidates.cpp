#include "partition/planner/choose/tried_candidates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/plan/planner.h"

namespace penstock::partition {
TriedCandidates TriedCandidates::beside(const TriedCandidates& others) {
  TriedCandidates none(others.common_);
  none.best_closed_ = others.best_closed_;
  return none;
}

void TriedCandidates::add(TriedCandidates other) {
  std::ranges::move(other.results_, std::back_inserter(results_));
  best_closed_ = std::min(best_closed_, other.best_closed_);
}

bool TriedCandidates::found() const { return best_closed_ < kInfeasible; }

bool TriedCandidates::is_hopeless(double closed_form) const {
  const double wide = problem().constraints.barrier == Barrier::none
                          ? kLimits.closed_form_without_barrier
                          : kLimits.closed_form;
  return closed_form > wide * best_closed_;
}

void TriedCandidates::try_with_what_memory_asks(const Candidate& candidate) {
  if (!consider(candidate, Recomputing::as_chosen)) return;
  if (!problem().constraints.shards_optimizer && candidate.replicas > 1) {
    Candidate sharded = candidate;
    sharded.shards_optimizer = true;
    const bool binds = consider(sharded, Recomputing::as_chosen);
    if (!binds && sharding_takes(results_.back()) <= 0) return;
    if (binds) {
      recompute(sharded);
      offload(sharded);
    }
  }
  recompute(candidate);
  offload(candidate);
}

/// Tries fewer and fewer resident micro-batches, until memory no longer binds.
void TriedCandidates::offload(const Candidate& candidate) {
  if (problem().constraints.resident) return;
  for (const int resident : kLimits.resident) {
    Candidate offloading = candidate;
    offloading.resident = resident;
    if (offloads(offloading) && !consider(offloading, Recomputing::as_chosen)) return;
  }
}

/// True if the candidate's schedule has any offload.
bool TriedCandidates::offloads(const Candidate& candidate) const {
  const int lanes = problem().constraints.max_replicas > 0 ? problem().constraints.max_replicas
                                                           : candidate.replicas;
  const Schedule lists =
      schedule_of(candidate, problem().known_schedules)
          .of(micro_batches_per_replica(candidate.batch.micro_batches, lanes, candidate.replicas));
  const auto leaves = [](const Action& action) { return action.kind == ActionKind::offload; };
  return std::ranges::any_of(lists.ranks,
                             [&](const auto& list) { return std::ranges::any_of(list, leaves); });
}

/// Tries recomputation within layers, of whole layers instead, and of both if memory still binds
/// with the former. Does nothing if the problem fixes the recomputed layers.
void TriedCandidates::recompute(const Candidate& candidate) {
  if (problem().constraints.recomputed) return;
  Candidate within = candidate;
  within.selective = problem().model.selective_costs != nullptr;
  if (within.selective && consider(within, Recomputing::as_chosen))
    consider(within, Recomputing::free);
  consider(candidate, Recomputing::free);
}

/// Cuts a candidate, and records and simulates it. Returns true if memory keeps it from a faster
/// cut that may be the best.
bool TriedCandidates::consider(const Candidate& wanted, Recomputing recomputing) {
  const Workload& workload = workload_of(wanted);
  CandidateCut cut = cut_candidate(
      problem(), workload, wanted, recomputing,
      {estimator_of(workload), common_.cuts, found() ? problem().search.time : nullptr});
  if (cut.ended && !cut.fits) return false;  // it may fit, but another candidate does
  // A variant that does not fit, or needs no recomputation, adds nothing to the candidate itself.
  const bool none = std::ranges::count(cut.recomputed, true) == 0;
  const bool more = recomputing == Recomputing::free ||
                    wanted.selective != problem().constraints.selective ||
                    offloads_besides(wanted) || is_sharded_besides(wanted);
  if (more && !cut.fits) return true;
  if (recomputing == Recomputing::free && none) return true;
  CandidateResult& result = results_.emplace_back(CandidateResult{wanted});
  Candidate& candidate = result.candidate;
  result.audio_seconds = workload.audio_seconds;
  result.closed_form = cut.closed_form;
  candidate.begin = std::move(cut.begin);
  candidate.recomputed = std::move(cut.recomputed);
  candidate.recompute_exact = cut.recompute_exact;
  if (!cut.fits) {
    result.lacks = LackingMemory{cut.lacking_stage, cut.lacking_bytes};
    result.why = "memory: " + describe(*result.lacks);
    return !is_hopeless(cut.min_closed_form / workload.audio_seconds);
  }
  result.memory_bound = cut.memory_bound;
  result.estimate = cut.estimate ? std::move(cut.estimate) : estimate(candidate, 1);
  const double min = candidate.resident > 0  // the closed form ignores copies to the host
                         ? std::max(result.closed_form, result.estimate->step_seconds)
                         : result.closed_form;
  best_closed_ = std::min(best_closed_, min / workload.audio_seconds);
  return cut.memory_bound && !is_hopeless(cut.min_closed_form / workload.audio_seconds);
}

bool TriedCandidates::offloads_besides(const Candidate& candidate) const {
  return candidate.resident != problem().constraints.resident.value_or(0);
}

bool TriedCandidates::is_sharded_besides(const Candidate& candidate) const {
  return candidate.shards_optimizer && !problem().constraints.shards_optimizer;
}

/// Returns the seconds that the sharded update adds to a step; negative if it is faster. Returns 0
/// if the candidate was not simulated.
double TriedCandidates::sharding_takes(const CandidateResult& sharded) {
  if (!sharded.estimate || !sharded.candidate.shards_optimizer) return 0;
  Candidate whole = sharded.candidate;
  whole.shards_optimizer = false;
  return sharded.estimate->step_seconds - estimate(whole, 1).step_seconds;
}

const Workload& TriedCandidates::workload_of(const Candidate& candidate) {
  return common_.workloads.of(candidate.batch, candidate.replicas, candidate.selective);
}

CandidateEstimate TriedCandidates::estimate(const Candidate& candidate, std::size_t max_steps) {
  return estimator_of(workload_of(candidate)).estimate(candidate, max_steps);
}

CandidateEstimator& TriedCandidates::estimator_of(const Workload& workload) {
  return estimators_.try_emplace(&workload, problem(), workload).first->second;
}

}  // namespace penstock::partition
