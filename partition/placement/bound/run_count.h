#pragma once

#include <random>
#include <vector>

#include "partition/placement/bound/run_table.h"

namespace penstock::partition {

/// Stages in a row that share a node.
struct StageRun {
  std::size_t kind = 0;
  int stages = 0;
};

/// How many stages pipelines of runs need, as RunTable has them, whatever their number: for a limit
/// on loads a dynamic programme over (first layer, devices left in the node, limited stages left)
/// from the layer sequence's end keeps the fewest other stages, O(layers · layers in a stage ·
/// devices of nodes · limited). That is less than a RunTable takes, by the number of stages.
/// `sequence` must outlive it.
class RunCount {
 public:
  /// The request's limit and sums do not count. `most`: stages of all classes together.
  RunCount(const SequenceLoad& sequence, RunTableRequest request, int most);

  /// Steps that this limit takes, about.
  double effort(double limit) const;

  /// Whether there may be a pipeline with no load above `limit` seconds.
  bool possible(double limit);

  /// The least limit with which there may be one, from below, to a ten-thousandth: at least `low`,
  /// and `high` where there is none below that.
  double least(double low, double high);

  /// One of the pipelines without replicas for the limit that possible() has just said yes to, from
  /// the layer sequence's beginning on. Long runs are likelier. std::logic_error after it said no.
  std::vector<StageRun> sample(std::mt19937_64& numbers) const;

 private:
  /// A stage's last layer, and what is behind it.
  struct Way {
    const StageClass* stage_class;
    int last;
    std::size_t behind;  // a state
  };

  int layers() const { return sequence_.size(); }
  std::size_t at(int first, std::size_t state) const {
    return (static_cast<std::size_t>(first) * states_ + state) *
           (static_cast<std::size_t>(request_.limited) + 1);
  }
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
  int most_;
  double limit_ = 0, least_per_work_;
  // Of what is behind a boundary: a run begins there, or goes on in a node with at most so many
  // devices left, and one more.
  std::size_t states_ = 1;
  std::vector<std::size_t> within_;  // [run]: its first state
  std::vector<int> fewest_;          // [first layer][state][limited left]: others
};

}  // namespace penstock::partition
