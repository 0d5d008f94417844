#pragma once

#include <vector>

#include "partition/planner/cut/best_cut.h"

namespace penstock::partition {

/// The loads of stages if work could be cut anywhere.
struct WaterFill {
  double sum = 0, largest = 0;  // of the stages' loads: seconds
};

/// Returns the division of work over stages of these speeds, which must fall, that minimises the
/// goal. Some stage takes `largest` in any case. Within a time T, the least sum fills the fastest
/// stages, each to T. That sum is piecewise linear in T, so the optimum is where T just fills some
/// number of stages, or at `largest`. O(stages).
WaterFill water_fill(double work, const std::vector<double>& speeds, double largest,
                     const Goal& goal);

}  // namespace penstock::partition
