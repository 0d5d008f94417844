#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "partition/cut/stage_cost.h"

namespace penstock::partition {

/// What a cut is worth: `sum` times the sum of its stages' loads and `slowest` times the largest.
/// The first of m micro-batches passes every stage, the others follow at the pace of the slowest:
/// a step takes {1, m − 1}. {0, 1} asks for the bottleneck alone.
struct Goal {
  double sum = 1, slowest = 0;
  double value(double loads, double largest) const { return sum * loads + slowest * largest; }
};

/// Contiguous stages and their loads in seconds.
struct Cut {
  std::vector<int> begin;  // first layer of each stage, then the number of layers
  double sum = 0, slowest = 0;
  double value = 0;  // of the goal
  double bound = 0;  // that no cut's value is below: `value`, unless sweeps ran out
};

struct CutLimits {
  double value = std::numeric_limits<double>::infinity();  // only better cuts are of interest
  double slowest = 0;  // the least bottleneck, where it is known
  int sweeps = 1000;   // dynamic programmes over all stages, at most
};

/// The best cut for stages whose devices are known, exactly (within `sweeps`); among cuts of equal
/// bottleneck one whose loads' sum is least. Nothing where none fits in memory or beats `limits`.
///
/// For a limit T the least sum of loads that are all at most T is a dynamic programme over (stage,
/// last layer), O(stages · layers · layers in a stage). T goes down from a value above which no
/// cut can win, each time below the slowest stage just found, until the least bottleneck (the
/// ε-constraint method, Haimes et al. 1971).
[[nodiscard]] std::optional<Cut> best_cut(const SequenceLoad& sequence,
                                          const std::vector<StageCost>& stages, const Goal& goal,
                                          const CutLimits& limits = {});

}  // namespace penstock::partition
