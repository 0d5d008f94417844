#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "partition/placement/exact/end_masks.h"
#include "partition/placement/exact/stage_graph.h"

namespace penstock::partition {

/// A path through a StageGraph, and what the best cut along it makes of the layer sequence.
struct GraphCut {
  std::vector<int> path;  // a state for each stage
  double sum = 0, slowest = 0;
};

/// What a cut must keep within to be of interest, seconds.
struct GraphCutLimits {
  double slowest = 0, sum = 0;  // of loads, at most
};

/// Dynamic programmes over the states of a graph and the boundaries of the layer sequence, among
/// cuts that fit in memory. `problem` and `graph` must outlive it.
class GraphSweep {
 public:
  GraphSweep(const PlacementProblem& problem, const StageGraph& graph);

  /// Loads of the least sum over all placements and cuts; nothing where none keeps within
  /// `limits`.
  std::optional<GraphCut> least_sum(const GraphCutLimits& limits);

 private:
  using Word = EndMasks::Word;
  struct Window {
    int begin = 0, end = 0;  // boundaries
    std::size_t offset = 0;  // in rest_, of the first
  };
  struct Step {
    double value = 0, load = 0;  // the least sum from there on, and the first stage's part of it
    int edge = -1, end = -1;
  };

  int layers() const { return problem_.sequence.size(); }
  Word* live(int state) { return &live_[static_cast<std::size_t>(state) * words_]; }
  bool is_live(int state, int boundary);
  double load(int edge, int first, int last) const;
  double& rest(int state, int boundary);

  void find_ends(double limit);
  bool promising(int state, int boundary, const GraphCutLimits& limits) const;
  bool find_finishing(const GraphCutLimits& limits);
  void keep_reached();
  void add_up(double most);
  Step best_step(int placed, int state, int first);
  std::optional<GraphCut> walk();
  template <class Visit>
  void for_ends(int placed, int state, int edge, int first, Visit visit);

  const PlacementProblem& problem_;
  const StageGraph& graph_;
  EndMasks fits_;  // [memory · stages + placed]
  EndMasks ends_;  // [rate]: within the limit
  std::size_t words_;
  std::vector<Word> live_;  // [state]: boundaries in front of its next stage that a solution has
  std::vector<Window> windows_;  // [state]: of its live boundaries
  std::vector<double> rest_;     // least sum of the loads behind them
};

}  // namespace penstock::partition
