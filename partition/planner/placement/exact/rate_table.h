#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// The cost of one replica of a stage as a function of the stage's layers, gradient reduction
/// included. A stage's load is the maximum over its replicas.
struct Rate {
  Pace pace;
  LinkCost reduction = {};

  double load(const SequenceLoad& sequence, int first, int last) const {
    return pace.per_work * sequence.work(first, last) +
           pace.enter.seconds(sequence.crossing(first)) +
           pace.leave.seconds(sequence.crossing(last)) +
           reduction.seconds(sequence.parameters(first, last));
  }
};

/// The distinct rates that occur in a grid's placements. `problem` must outlive this object.
class RateTable {
 public:
  RateTable(const PlacementProblem& problem, const Grid& grid)
      : problem_(problem), micro_batches_(micro_batches_of(problem, grid)) {}

  /// Returns the index of the cost of reducing gradients over a stage's devices.
  int reduction(const std::vector<int>& devices);
  /// Returns the index in rates() of a replica on `device`, between the devices `before` and
  /// `after`; −1 is none. `reduction` is an index from reduction().
  int rate(int reduction, int before, int device, int after);

  const std::vector<Rate>& rates() const { return rates_; }

 private:
  const PlacementProblem& problem_;
  int micro_batches_;
  std::vector<LinkCost> reductions_;
  std::vector<Rate> rates_;
  std::map<std::vector<double>, int> reduction_places_, rate_places_;  // keyed by value
  std::unordered_map<std::uint64_t, int> by_devices_;                  // cache of rate()
};

}  // namespace penstock::partition
