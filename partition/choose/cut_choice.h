#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "base/known.h"
#include "base/time_limit.h"
#include "partition/choose/choice_estimate.h"
#include "partition/choose/workload.h"
#include "partition/cut/cut_chunks.h"

namespace penstock::partition {

/// The best cut of a choice whose devices are known.
struct ChosenCut {
  bool fits = true;             // into memory; else it is the fastest of those that do not
  std::vector<int> begin = {};  // first layer of each chunk, then their number
  ChosenLayers recomputed =
      {};  // of the layer sequence's layers; PlanChoice's own unless it was free
  bool recompute_exact = true;   // as PlanChoice's
  double closed_form = 0;        // seconds of a step, for the cut that makes it least
  double least_closed_form = 0;  // the same, whether it fits or not
  bool memory_bound = false;     // a faster cut did not fit
  bool ended = false;            // by time: others may fit
  int lacking_stage = 0;         // of the fastest cut, where that does not fit: what it lacks
  double lacking_bytes = 0;
  std::optional<ChoiceEstimate> estimate = {};  // over one step, where cuts had to be compared
};

/// The best cuts whether they fit or not, of placements whose chunks lie on the same stages: they
/// are those of every schedule. Of one PlanningProblem, whose workloads must outlive this. For any
/// thread.
class KnownCuts {
 public:
  /// For each of chunk_loads(): its cut, and the closed form of the first.
  struct Cuts {
    std::vector<std::vector<int>> begins;
    double closed_form = 0;
  };
  const Cuts& of(const Workload& workload, const PlanChoice& choice, const std::vector<int>& ranks,
                 const std::vector<ChunkCutProblem>& loads);

 private:
  Known<std::tuple<const Workload*, std::vector<std::vector<int>>, std::vector<int>>, Cuts> known_;
};

/// Whether layers may be chosen to be recomputed so that more cuts fit.
enum class Recomputing { as_chosen, free };

/// What many calls of cut_choice() have in common. `estimator` is of the same problem and workload.
struct CutAid {
  ChoiceEstimator& estimator;
  KnownCuts& known;
  /// Once it is over, no cut within memory is sought any more.
  const TimeLimit* time = nullptr;
};

/// cut_chunks() within memory, for the mean micro-batch's chunk_loads() counted in either way; of
/// the two cuts the one whose simulated step is shorter. The layers must be as many as the
/// schedule's chunks. With Recomputing::free each chunk that needs it gets the cheapest second
/// forwards of RecomputeSearch, and choice.recomputed is not looked at.
[[nodiscard]] ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                                   const PlanChoice& choice,
                                   Recomputing recomputing = Recomputing::as_chosen);
[[nodiscard]] ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                                   const PlanChoice& choice, Recomputing recomputing,
                                   const CutAid& aid);

/// Gives a choice that has a cut the cheapest recomputation with which it fits. False where none
/// does; the choice is then as it was.
bool recompute_to_fit(const PlanningProblem& problem, const Workload& workload, PlanChoice& choice);

}  // namespace penstock::partition
