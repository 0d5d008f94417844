#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "base/time_limit.h"
#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/problem.h"
#include "partition/planner/cut/cut_chunks.h"

namespace penstock::partition {

/// Returns two cut problems for a placed candidate, with two models of the mean micro-batch's
/// loads. The closed form's comes first. The caller simulates both cuts and takes the faster.
/// - One chunk per stage: in the closed form, a stage computes nothing while its messages are under
///   way. In the second model it does, as far as the cluster's `overlap` allows. A load is then the
///   computing plus the part of messages that is not hidden, but at least one message's time.
/// - Several chunks per stage: loads are computing alone. A step goes at the pace of the slowest
///   stage. In the second model it goes at that of the slowest chunk, as if each had a stage.
/// No chunk has extra seconds. `problem` must outlive the result.
std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const Candidate& candidate);

/// The best cut of a candidate that is placed.
struct CandidateCut {
  bool fits = true;              // into memory; if not, `begin` is the fastest cut without limits
  std::vector<int> begin = {};   // first layer of each chunk, then the number of layers
  ChosenLayers recomputed = {};  // as Candidate's, or chosen with Recomputing::free
  bool recompute_exact = true;   // as Candidate::recompute_exact
  double closed_form = 0;        // seconds of a step, of the best cut within memory
  double min_closed_form = 0;    // the same without limits on memory
  bool memory_bound = false;     // a faster cut did not fit
  bool ended = false;            // by the time limit: another cut may fit
  int lacking_stage = 0;         // of the cut without limits, if it does not fit
  double lacking_bytes = 0;
  std::optional<CandidateEstimate> estimate = {};  // over one step, if cuts had to be compared
};

/// A cache of the best cuts without limits on memory. Schedules that put the same chunks on the
/// same stages share them. It serves one PlanningProblem, whose workloads must outlive it.
/// Thread-safe.
class CutCache {
 public:
  /// The best cut for each of chunk_loads(), and the closed form of the first.
  struct Cuts {
    std::vector<std::vector<int>> begins;
    double closed_form = 0;
  };
  const Cuts& of(const Workload& workload, const Candidate& candidate,
                 const std::vector<int>& ranks, const std::vector<ChunkCutProblem>& loads);

 private:
  Cache<std::tuple<const Workload*, std::vector<std::vector<int>>, std::vector<int>>, Cuts> known_;
};

/// `free` lets cut_candidate() choose layers to recompute, so that more cuts fit.
enum class Recomputing { as_chosen, free };

/// Caches that calls of cut_candidate() share. `estimator` must be of the same problem and
/// workload.
struct CutAid {
  CandidateEstimator& estimator;
  CutCache& known;
  /// When it is over, the search for a cut within memory ends.
  const TimeLimit* time = nullptr;
};

/// Returns the best cut within memory. It runs cut_chunks() for each of chunk_loads(), and takes
/// the cut whose simulated step is shorter. There must be at least as many layers as chunks. With
/// Recomputing::free, each chunk that needs it gets the cheapest recomputation of RecomputeSearch,
/// and candidate.recomputed is ignored.
[[nodiscard]] CandidateCut cut_candidate(const PlanningProblem& problem, const Workload& workload,
                                         const Candidate& candidate,
                                         Recomputing recomputing = Recomputing::as_chosen);
[[nodiscard]] CandidateCut cut_candidate(const PlanningProblem& problem, const Workload& workload,
                                         const Candidate& candidate, Recomputing recomputing,
                                         const CutAid& aid);

/// Gives a candidate that has a cut the cheapest recomputation with which it fits. Returns false if
/// it fits with none; the candidate is then unchanged.
bool recompute_to_fit(const PlanningProblem& problem, const Workload& workload,
                      Candidate& candidate);

}  // namespace penstock::partition
