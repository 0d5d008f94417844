#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/exact/end_masks.h"
#include "partition/planner/placement/exact/stage_graph.h"

namespace penstock::partition {

/// A path through a StageGraph, with the loads of the best cut along it.
struct GraphCut {
  std::vector<int> path;  // one state per stage
  double sum = 0, slowest = 0;
};

/// Limits within which a cut is of interest: seconds.
struct GraphCutLimits {
  double slowest = 0, sum = 0;  // of loads
};

/// Dynamic programmes over (state of a graph, boundary of the layer sequence), among cuts that fit
/// into memory. `problem` and `graph` must outlive this object. See graph_sweep.cpp.
class GraphSweep {
 public:
  GraphSweep(const PlacementProblem& problem, const StageGraph& graph);

  /// Returns the path and cut with the least sum of loads; nothing if none keeps within `limits`.
  /// It is faster if these are no looser than those of the previous call.
  std::optional<GraphCut> min_sum(const GraphCutLimits& limits);

 private:
  using Word = EndMasks::Word;
  /// A range of boundaries.
  struct Window {
    int begin = 0, end = 0;  // boundaries
    std::size_t offset = 0;  // index in rest_ of `begin`
  };
  /// The best next stage from a state and boundary.
  struct Step {
    double value = 0, load = 0;  // the least sum from here on, and this stage's part
    int edge = -1, end = -1;
  };

  int layers() const { return problem_.sequence.size(); }
  Word* live(int state) { return &live_[static_cast<std::size_t>(state) * words_]; }
  bool is_live(int state, int boundary) const;
  bool has(const std::vector<Word>& boundaries, int state, int boundary) const;
  double load(int edge, int first, int last) const;
  double& rest(int state, int boundary);

  void find_ends(double limit);
  Window promising(int placed, int state, double slowest) const;
  bool promising_sum(int state, int boundary, double max) const;
  void take_candidates(const GraphCutLimits& limits);
  bool find_finishing(const GraphCutLimits& limits);
  void keep_reached();
  void add_up(double max);
  Step best_step(int placed, int state, int first);
  std::optional<GraphCut> walk();
  template <class Visit>
  void for_ends(int placed, int state, int edge, int first, Visit visit);

  const PlacementProblem& problem_;
  const StageGraph& graph_;
  EndMasks fits_;              // [memory · stages + placed]
  EndMasks ends_;              // [rate]: within the limit
  std::vector<int> furthest_;  // [rate · layers + first]: the last of ends_; 0: none
  std::size_t words_;
  std::vector<Word> live_;  // [state]: boundaries from which a solution goes on
  GraphCutLimits limits_ = {kInfeasible, kInfeasible};  // limits for which live_ holds
  std::vector<Word> candidates_;                        // [state]: boundaries that may be live
  std::vector<Window> windows_;                         // [state]: contains all live boundaries
  std::vector<double> rest_;  // [window's offset + boundary]: least sum from there on
};

}  // namespace penstock::partition
