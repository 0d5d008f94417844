#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "partition/choose/choice_estimate.h"
#include "partition/choose/cut_choice.h"
#include "partition/choose/problem.h"
#include "partition/cut/limits.h"

namespace penstock::partition {

/// Memory that a stage of the fastest cut does not have.
struct LackingMemory {
  int stage = 0;
  double bytes = 0;
};

/// A choice that was considered.
struct Alternative {
  PlanChoice choice;                            // without a cut where none was made
  std::optional<ChoiceEstimate> estimate = {};  // where it was simulated
  bool over_all_steps = false;              // it is, not over the first of the sampled steps alone
  double closed_form = 0;                   // seconds of a step, or their bound where none was made
  bool is_bound = false;                    // it is that: the choice was not tried
  bool memory_bound = false;                // a faster cut did not fit
  double audio_seconds = 0;                 // of a step
  std::optional<LackingMemory> lacks = {};  // where no cut fits
  /// Audio seconds that it would train in a second with the memory that it lacks; 0: not simulated.
  double roomy_speed = 0;
  std::string why = {};  // it lost; empty: it did not
  /// What a step would take with the other Barrier than the problem's, of the best few of several
  /// ranks.
  std::optional<double> other_barrier_s = {};

  /// Of a step of so much audio, predicted or bounded: so choices of other batches compare.
  double step_seconds(double audio) const {
    if (estimate) return audio / estimate->speed();
    return audio_seconds > 0 ? closed_form * audio / audio_seconds : 0;
  }
};

/// Choices that were cut, and simulated over one step: of those whose devices are known, also those
/// that memory asks for. Several threads may each try some of their own.
class TriedChoices {
 public:
  /// What all that try choices of one problem have in common; the problem must outlive it.
  struct Common {
    explicit Common(const PlanningProblem& of) : problem(of), workloads(of) {}
    const PlanningProblem& problem;
    Workloads workloads;
    KnownCuts cuts = {};
  };
  /// `common` must outlive this.
  explicit TriedChoices(Common& common) : common_(common) {}
  /// None yet, and as hopeless is what is too slow beside those of `others`.
  static TriedChoices beside(const TriedChoices& others);
  /// Those of `other` behind these.
  void add(TriedChoices other);

  /// Where memory binds, also with a sharded optimizer and, unless sharding alone makes room and
  /// takes no time, with recomputation, or with offload instead.
  void try_with_what_memory_asks(const PlanChoice& choice);
  /// Whether memory keeps it from a faster cut, with which it may be the best.
  bool try_as_it_is(const PlanChoice& choice) { return consider(choice, Recomputing::as_chosen); }

  /// Whether something fits.
  bool found() const;
  /// Whether a choice of that closed form, for a second of audio, is too slow to be the best.
  bool is_hopeless(double closed_form) const;
  /// Whether it offloads, and the problem does not ask for that.
  bool offloads_besides(const PlanChoice& choice) const;

  const Workload& workload_of(const PlanChoice& choice);
  ChoiceEstimate estimate(const PlanChoice& choice, std::size_t most_steps = 1000);
  std::vector<Alternative>& alternatives() { return alternatives_; }

 private:
  bool consider(const PlanChoice& wanted, Recomputing recomputing);
  void offload(const PlanChoice& choice);
  bool offloads(const PlanChoice& choice) const;
  void recompute(const PlanChoice& choice);
  bool is_sharded_besides(const PlanChoice& choice) const;
  double sharding_takes(const Alternative& sharded);
  ChoiceEstimator& estimator_of(const Workload& workload);
  const PlanningProblem& problem() const { return common_.problem; }

  Common& common_;
  std::map<const Workload*, ChoiceEstimator> estimators_;
  std::vector<Alternative> alternatives_;
  double best_closed_ = kNever;  // of those that fit, for a second of audio
};

}  // namespace penstock::partition
