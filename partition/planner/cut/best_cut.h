#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "partition/planner/cut/stage_cost.h"

namespace penstock::partition {

/// The weights of an objective: `sum` on the sum of loads, `slowest` on the largest load. A step of
/// m micro-batches is {1, m − 1}: the first micro-batch passes every stage, and the others follow
/// at the pace of the slowest. The bottleneck alone is {0, 1}.
struct Goal {
  double sum = 1, slowest = 0;
  double value(double loads, double largest) const { return sum * loads + slowest * largest; }
};

/// Contiguous stages and their loads in seconds.
struct Cut {
  std::vector<int> begin;  // first layer of each stage, then the number of layers
  double sum = 0, slowest = 0;
  double value = 0;  // of the goal, seconds
  double bound = 0;  // lower bound on any cut's value; `value`, unless sweeps ran out
};

/// Limits of best_cut().
struct CutLimits {
  double value = std::numeric_limits<double>::infinity();  // only better cuts are of interest
  int sweeps = 1000;  // most dynamic programmes over all stages
};

/// Returns the best cut for stages with known devices, exactly unless `sweeps` run out. For the
/// bottleneck, it has the least sum of loads among the best. Returns nothing if no cut fits into
/// memory or beats `limits`.
///
/// For a limit T, a dynamic programme over (stage, last layer) finds the least sum of loads that
/// are all at most T. It takes O(stages · layers · layers of a stage). T starts at a value above
/// which no cut can win. It then falls below the slowest stage just found, down to the least
/// bottleneck (the ε-constraint method, Haimes et al. 1971).
[[nodiscard]] std::optional<Cut> best_cut(const SequenceLoad& sequence,
                                          const std::vector<StageCost>& stages, const Goal& goal,
                                          const CutLimits& limits = {});

}  // namespace penstock::partition
