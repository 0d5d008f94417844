#pragma once

#include <vector>

#include "partition/cut/best_cut.h"

namespace penstock::partition {

/// Work spread over stages as if it could be cut anywhere.
struct WaterFill {
  double sum = 0, largest = 0;  // of the stages' seconds
};

/// Fills stages of these speeds, fastest first, each to the same time, so that the goal is least
/// where some stage takes `largest` anyway. For a time T the least sum takes the fastest that
/// suffice: piecewise linear in T, so that the optimum lies where T just fills some number of
/// stages, or at `largest`.
WaterFill water_fill(double work, const std::vector<double>& speeds, double largest,
                     const Goal& goal);

}  // namespace penstock::partition
