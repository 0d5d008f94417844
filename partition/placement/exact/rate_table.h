#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "partition/placement/problem.h"

namespace penstock::partition {

/// What one replica of a stage costs as a function of the stage's layers, with its share of adding
/// gradients; a stage's load is the largest of its replicas'.
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

/// The rates that occur in a grid's placements, each once. `problem` must outlive it.
class RateTable {
 public:
  RateTable(const PlacementProblem& problem, const Grid& grid)
      : problem_(problem), micro_batches_(micro_batches_of(problem, grid)) {}

  /// The place of what adding gradients over a stage's devices costs.
  int reduction(const std::vector<int>& devices);
  /// The place in rates() of a replica on `device` between `before` and `behind` (−1: none).
  int rate(int reduction, int before, int device, int behind);

  const std::vector<Rate>& rates() const { return rates_; }

 private:
  const PlacementProblem& problem_;
  int micro_batches_;
  std::vector<LinkCost> reductions_;
  std::vector<Rate> rates_;
  std::map<std::vector<double>, int> reduction_places_, rate_places_;  // by value
  std::unordered_map<std::uint64_t, int> by_devices_;
};

}  // namespace penstock::partition
