#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "partition/cut/limits.h"
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
  /// `limits`. Faster where these are no looser than those of the call before.
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
  bool is_live(int state, int boundary) const;
  bool has(const std::vector<Word>& boundaries, int state, int boundary) const;
  double load(int edge, int first, int last) const;
  double& rest(int state, int boundary);

  void find_ends(double limit);
  Window promising(int placed, int state, double slowest) const;
  bool promising_sum(int state, int boundary, double most) const;
  void take_candidates(const GraphCutLimits& limits);
  bool find_finishing(const GraphCutLimits& limits);
  void keep_reached();
  void add_up(double most);
  Step best_step(int placed, int state, int first);
  std::optional<GraphCut> walk();
  template <class Visit>
  void for_ends(int placed, int state, int edge, int first, Visit visit);

  const PlacementProblem& problem_;
  const StageGraph& graph_;
  EndMasks fits_;              // [memory · stages + placed]
  EndMasks ends_;              // [rate]: within the limit
  std::vector<int> furthest_;  // [rate · layers + first]: of these the last; 0 where there is none
  std::size_t words_;
  std::vector<Word> live_;  // [state]: boundaries in front of its next stage that a solution has
  GraphCutLimits limits_ = {kNever, kNever};  // that live_ is of
  std::vector<Word> candidates_;              // [state]: boundaries that may be live
  std::vector<Window> windows_;               // [state]: no boundary outside of it is live
  std::vector<double> rest_;                  // least sum of the loads behind them
};

}  // namespace penstock::partition
