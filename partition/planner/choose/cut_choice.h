#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "base/time_limit.h"
#include "partition/planner/choose/choice_estimate.h"
#include "partition/planner/choose/problem.h"
#include "partition/planner/cut/cut_chunks.h"

namespace penstock::partition {

/// Returns two cut problems for a placed choice, with two models of the mean micro-batch's loads.
/// The closed form's comes first. The caller simulates both cuts and takes the faster.
/// - One chunk per stage: in the closed form, a stage computes nothing while its messages are under
///   way. In the second model it does, as far as the cluster's `overlap` allows. A load is then the
///   computing plus the part of messages that is not hidden, but at least one message's time.
/// - Several chunks per stage: loads are computing alone. A step goes at the pace of the slowest
///   stage. In the second model it goes at that of the slowest chunk, as if each had a stage.
/// No chunk has extra seconds. `problem` must outlive the result.
std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const PlanChoice& choice);

/// The best cut of a choice that is placed.
struct ChosenCut {
  bool fits = true;              // into memory; if not, `begin` is the fastest cut without limits
  std::vector<int> begin = {};   // first layer of each chunk, then the number of layers
  ChosenLayers recomputed = {};  // as PlanChoice's, or chosen with Recomputing::free
  bool recompute_exact = true;   // as PlanChoice::recompute_exact
  double closed_form = 0;        // seconds of a step, of the best cut within memory
  double min_closed_form = 0;    // the same without limits on memory
  bool memory_bound = false;     // a faster cut did not fit
  bool ended = false;            // by the time limit: another cut may fit
  int lacking_stage = 0;         // of the cut without limits, if it does not fit
  double lacking_bytes = 0;
  std::optional<ChoiceEstimate> estimate = {};  // over one step, if cuts had to be compared
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
  const Cuts& of(const Workload& workload, const PlanChoice& choice, const std::vector<int>& ranks,
                 const std::vector<ChunkCutProblem>& loads);

 private:
  Cache<std::tuple<const Workload*, std::vector<std::vector<int>>, std::vector<int>>, Cuts> known_;
};

/// `free` lets cut_choice() choose layers to recompute, so that more cuts fit.
enum class Recomputing { as_chosen, free };

/// Caches that calls of cut_choice() share. `estimator` must be of the same problem and workload.
struct CutAid {
  ChoiceEstimator& estimator;
  CutCache& known;
  /// When it is over, the search for a cut within memory ends.
  const TimeLimit* time = nullptr;
};

/// Returns the best cut within memory. It runs cut_chunks() for each of chunk_loads(), and takes
/// the cut whose simulated step is shorter. There must be at least as many layers as chunks. With
/// Recomputing::free, each chunk that needs it gets the cheapest recomputation of RecomputeSearch,
/// and choice.recomputed is ignored.
[[nodiscard]] ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                                   const PlanChoice& choice,
                                   Recomputing recomputing = Recomputing::as_chosen);
[[nodiscard]] ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                                   const PlanChoice& choice, Recomputing recomputing,
                                   const CutAid& aid);

/// Gives a choice that has a cut the cheapest recomputation with which it fits. Returns false if it
/// fits with none; the choice is then unchanged.
bool recompute_to_fit(const PlanningProblem& problem, const Workload& workload, PlanChoice& choice);

}  // namespace penstock::partition
