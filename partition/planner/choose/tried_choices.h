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

/// Memory that a stage lacks for the fastest cut.
struct LackingMemory {
  int stage = 0;
  double bytes = 0;
};

/// A choice that was considered, with the reason why it lost.
struct Candidate {
  PlanChoice choice;                            // without a cut if it was not cut
  std::optional<ChoiceEstimate> estimate = {};  // set if it was simulated
  bool over_all_steps = false;  // `estimate` is over all sampled steps, not the first alone
  double closed_form = 0;       // seconds of a step, or a lower bound
  bool is_bound = false;        // `closed_form` is a bound: the choice was not tried
  bool memory_bound = false;    // a faster cut did not fit
  double audio_seconds = 0;     // of a step
  std::optional<LackingMemory> lacks = {};  // set if no cut fits
  /// Audio seconds that it would train per second if it had the memory that it lacks; 0: not
  /// simulated.
  double speed_with_memory = 0;
  std::string why = {};  // reason why it lost; empty: it is the best
  /// Seconds of a step with the other Barrier than the problem's. Set for the best few that use
  /// more than one device.
  std::optional<double> other_barrier_s = {};

  /// Returns the predicted or bounded seconds of a step, scaled to `audio` seconds of audio. So
  /// choices with different batches compare.
  double step_seconds(double audio) const {
    if (estimate) return audio / estimate->speed();
    return audio_seconds > 0 ? closed_form * audio / audio_seconds : 0;
  }
};

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
