#pragma once

#include <random>
#include <vector>

#include "partition/placement/run_table.h"

namespace penstock {

/// Stages of one sort in a row that share a node.
struct StageRun {
  std::size_t sort = 0;
  int stages = 0;
};

/// How many stages pipelines of runs need, as RunTable has them, whatever their number: for a limit
/// on loads a dynamic programme over (first layer, stages left in the run, scarce stages left) from
/// the chain's end keeps the fewest other stages, O(layers · layers in a stage · longest runs ·
/// scarce). That is less than a RunTable takes, by the number of stages. `chain` must outlive it.
class RunCount {
 public:
  /// The request's limit and sums do not count. `most`: stages of all sorts together.
  RunCount(const ChainLoad& chain, RunTableRequest request, int most);

  /// Steps that one limit takes, about.
  double effort() const;

  /// Whether there may be a pipeline with no load above `limit` seconds.
  bool possible(double limit);

  /// The least limit with which there may be one, from below, to a ten-thousandth: at least `low`,
  /// and `high` where there is none below that.
  double least(double low, double high);

  /// One of the pipelines for the last limit that was possible, from the chain's beginning on. Long
  /// runs are likelier.
  std::vector<StageRun> draw(std::mt19937_64& numbers) const;

 private:
  /// A stage's last layer, and what is behind it.
  struct Way {
    std::size_t sort;
    int last;
    std::size_t behind;  // a state
  };

  int layers() const { return chain_.size(); }
  std::size_t at(int first, std::size_t state) const {
    return (static_cast<std::size_t>(first) * states_ + state) *
           (static_cast<std::size_t>(request_.scarce) + 1);
  }
  std::size_t within(std::size_t sort, int more) const { return within_[sort] + more; }
  void put_first(std::size_t sort, int first);
  template <class Visit>
  void for_ends(const StageSort& sort, int first, Visit visit) const;
  template <class Visit>
  void for_ways(std::size_t sort, int first, Visit visit) const;

  const ChainLoad& chain_;
  RunTableRequest request_;
  int most_;
  double limit_ = 0, least_per_work_;
  // Of what is behind a boundary: a run begins there, or goes on by a stage of a sort and at most
  // so many more.
  std::size_t states_ = 1;
  std::vector<std::size_t> within_;  // [sort]: its first state
  std::vector<int> fewest_;          // [first layer][state][scarce left]: others
};

}  // namespace penstock
