#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/cut_candidate.h"
#include "partition/planner/choose/problem.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {

/// A collection of candidates that were cut and, if they fit, simulated over one step. It adds
/// variants that save memory where memory binds. It is not thread-safe: each thread fills one of
/// its own (beside()), and the results are joined by add().
class TriedCandidates {
 public:
  /// Caches that all collections of one problem share. The problem must outlive it.
  struct Common {
    explicit Common(const PlanningProblem& of) : problem(of), workloads(of) {}
    const PlanningProblem& problem;
    Workloads workloads;
    CutCache cuts = {};
  };
  /// `common` must outlive this object.
  explicit TriedCandidates(Common& common) : common_(common) {}
  /// Returns an empty collection that knows the best closed form of `others`, by which it judges
  /// candidates as hopeless.
  static TriedCandidates beside(const TriedCandidates& others);
  /// Appends the candidates of `other`.
  void add(TriedCandidates other);

  /// Tries the candidate as it is. If memory binds, also tries it with a sharded optimizer, with
  /// recomputation, and with offload instead. The latter two are skipped if sharding alone frees
  /// enough memory and costs no time.
  void try_with_what_memory_asks(const Candidate& candidate);
  /// Tries the candidate alone. Returns true if memory keeps it from a faster cut that may be the
  /// best.
  bool try_as_it_is(const Candidate& candidate) {
    return consider(candidate, Recomputing::as_chosen);
  }

  /// True if some candidate fits.
  bool found() const;
  /// True if a candidate with that closed form, per second of audio, is too slow to be the best.
  bool is_hopeless(double closed_form) const;
  /// True if the candidate offloads without being asked to by the problem.
  bool offloads_besides(const Candidate& candidate) const;

  const Workload& workload_of(const Candidate& candidate);
  CandidateEstimate estimate(const Candidate& candidate, std::size_t max_steps = 1000);
  std::vector<CandidateResult>& results() { return results_; }

 private:
  bool consider(const Candidate& wanted, Recomputing recomputing);
  void offload(const Candidate& candidate);
  bool offloads(const Candidate& candidate) const;
  void recompute(const Candidate& candidate);
  bool is_sharded_besides(const Candidate& candidate) const;
  double sharding_takes(const CandidateResult& sharded);
  CandidateEstimator& estimator_of(const Workload& workload);
  const PlanningProblem& problem() const { return common_.problem; }

  Common& common_;
  std::map<const Workload*, CandidateEstimator> estimators_;
  std::vector<CandidateResult> results_;
  double best_closed_ = kInfeasible;  // of candidates that fit, per second of audio
};

}  // namespace penstock::partition
