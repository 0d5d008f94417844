#pragma once

#include <random>
#include <vector>

#include "partition/planner/placement/bound/run_table.h"

namespace penstock::partition {

/// Consecutive stages that share a node.
struct StageRun {
  std::size_t kind = 0;  // index in RunTableRequest::runs
  int stages = 0;
};

/// Decides for a limit on loads whether a pipeline of runs is possible, for any number of stages.
/// The pipelines are those of RunTable. A dynamic programme runs from the end of the layer sequence
/// over (first layer, devices left in the node, limited stages left). It keeps the fewest other
/// stages. It takes O(layers · layers of a stage · devices of nodes · limited): less than a
/// RunTable by a factor of the number of stages. `sequence` must outlive this object.
class RunCount {
 public:
  /// Ignores the request's `limit` and `sums`. `max` is the maximum number of stages of all classes
  /// together.
  RunCount(const SequenceLoad& sequence, RunTableRequest request, int max);

  /// Approximate number of steps for this limit.
  double effort(double limit) const;

  /// Returns false if no pipeline has all loads within `limit` seconds.
  bool possible(double limit);

  /// Returns the least possible limit, from below, to a ten-thousandth. It is at least `low`, and
  /// `high` if nothing is possible within that.
  double min(double low, double high);

  /// Returns a random pipeline without replicas for the limit of the last call of possible(), which
  /// must have returned true; else throws std::logic_error. Long runs are likelier.
  std::vector<StageRun> sample(std::mt19937_64& numbers) const;

 private:
  /// A stage with its end, and the state after it.
  struct Way {
    const StageClass* stage_class;
    int last;
    std::size_t behind;  // state
  };

  int layers() const { return sequence_.size(); }
  std::size_t at(int first, std::size_t state) const {
    return (static_cast<std::size_t>(first) * states_ + state) *
           (static_cast<std::size_t>(request_.limited) + 1);
  }
  /// Returns the state in which a run goes on with `more` + 1 devices left in its node.
  std::size_t within(const StageClass& stage_class, int more) const {
    return within_[stage_class.run] + more;
  }
  bool in_run(const StageClass& stage_class, std::size_t state) const {
    return state >= within_[stage_class.run] &&
           state < within(stage_class, request_.runs[stage_class.run].capacity - 1);
  }
  void put_first(const StageClass& stage_class, int first);
  template <class Visit>
  void for_ends(const StageClass& stage_class, int first, Visit visit) const;
  template <class Visit>
  void for_ways(const StageClass& stage_class, int first, Visit visit) const;

  const SequenceLoad& sequence_;
  RunTableRequest request_;
  int max_runs_;
  double limit_ = 0, min_per_work_;
  // States at a boundary: a run begins there, or goes on in a node with a number of devices left.
  std::size_t states_ = 1;
  std::vector<std::size_t> within_;  // [run]: its first state
  std::vector<int> min_runs_;        // [first layer][state][limited left]: fewest other stages
};

}  // namespace penstock::partition
