#include "partition/planner/placement/bound/water_fill.h"

#include <algorithm>
#include <limits>

namespace penstock::partition {
namespace {

/// Fills stages to `time`, fastest first, until the work is done.
WaterFill filled(double work, const std::vector<double>& speeds, double time) {
  double sum = 0;
  for (const double speed : speeds) {  // `work` is left for this and slower stages
    if (work <= speed * time) return {sum + work / speed, time};
    work -= speed * time;
    sum += time;
  }
  return {sum + work / speeds.back(), time};  // left by rounding
}

}  // namespace

WaterFill water_fill(double work, const std::vector<double>& speeds, double largest,
                     const Goal& goal) {
  if (work <= 0) return {0, largest};
  WaterFill best;
  double min = std::numeric_limits<double>::infinity(), together = 0;
  const auto offer = [&](const WaterFill& filled) {
    const double value = goal.value(filled.sum, filled.largest);
    if (value >= min) return;
    min = value;
    best = filled;
  };
  // The n fastest stages, all filled for T_n = work / (sum of their speeds), just do the work. T_n
  // falls with n. The optimum is at a T_n above `largest`, or at `largest`.
  for (std::size_t n = 1; n <= speeds.size(); ++n) {
    together += speeds[n - 1];
    const double time = work / together;
    if (time <= largest) {  // these suffice within `largest`
      offer(filled(work, speeds, largest));
      break;
    }
    offer({static_cast<double>(n) * time, time});
  }
  return best;
}

}  // namespace penstock::partition
