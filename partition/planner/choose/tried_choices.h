#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "partition/planner/choose/choice_estimate.h"
#include "partition/planner/choose/cut_choice.h"
#include "partition/planner/choose/problem.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {

/// A collection of choices that were cut and, if they fit, simulated over one step. It adds
/// variants that save memory where memory binds. It is not thread-safe: each thread fills one of
/// its own (beside()), and the results are joined by add().
class TriedChoices {
 public:
  /// Caches that all collections of one problem share. The problem must outlive it.
  struct Common {
    explicit Common(const PlanningProblem& of) : problem(of), workloads(of) {}
    const PlanningProblem& problem;
    Workloads workloads;
    CutCache cuts = {};
  };
  /// `common` must outlive this object.
  explicit TriedChoices(Common& common) : common_(common) {}
  /// Returns an empty collection that knows the best closed form of `others`, by which it judges
  /// choices as hopeless.
  static TriedChoices beside(const TriedChoices& others);
  /// Appends the choices of `other`.
  void add(TriedChoices other);

  /// Tries the choice as it is. If memory binds, also tries it with a sharded optimizer, with
  /// recomputation, and with offload instead. The latter two are skipped if sharding alone frees
  /// enough memory and costs no time.
  void try_with_what_memory_asks(const PlanChoice& choice);
  /// Tries the choice alone. Returns true if memory keeps it from a faster cut that may be the
  /// best.
  bool try_as_it_is(const PlanChoice& choice) { return consider(choice, Recomputing::as_chosen); }

  /// True if some choice fits.
  bool found() const;
  /// True if a choice with that closed form, per second of audio, is too slow to be the best.
  bool is_hopeless(double closed_form) const;
  /// True if the choice offloads otherwise than the problem asks.
  bool offloads_besides(const PlanChoice& choice) const;

  const Workload& workload_of(const PlanChoice& choice);
  ChoiceEstimate estimate(const PlanChoice& choice, std::size_t max_steps = 1000);
  std::vector<Candidate>& candidates() { return candidates_; }

 private:
  bool consider(const PlanChoice& wanted, Recomputing recomputing);
  void offload(const PlanChoice& choice);
  bool offloads(const PlanChoice& choice) const;
  void recompute(const PlanChoice& choice);
  bool is_sharded_besides(const PlanChoice& choice) const;
  double sharding_takes(const Candidate& sharded);
  ChoiceEstimator& estimator_of(const Workload& workload);
  const PlanningProblem& problem() const { return common_.problem; }

  Common& common_;
  std::map<const Workload*, ChoiceEstimator> estimators_;
  std::vector<Candidate> candidates_;
  double best_closed_ = kInfeasible;  // of choices that fit, per second of audio
};

}  // namespace penstock::partition
