#include "partition/placement/bound/water_fill.h"

#include <algorithm>
#include <limits>

namespace penstock::partition {
namespace {

/// Stages filled to `time` until the work is done.
WaterFill filled(double work, const std::vector<double>& speeds, double time) {
  double sum = 0;
  for (const double speed : speeds) {  // `work` is what is left for it and slower ones
    if (work <= speed * time) return {sum + work / speed, time};
    work -= speed * time;
    sum += time;
  }
  return {sum + work / speeds.back(), time};  // what rounding left
}

}  // namespace

WaterFill water_fill(double work, const std::vector<double>& speeds, double largest,
                     const Goal& goal) {
  if (work <= 0) return {0, largest};
  WaterFill best;
  double least = std::numeric_limits<double>::infinity(), together = 0;
  const auto offer = [&](const WaterFill& filled) {
    const double value = goal.value(filled.sum, filled.largest);
    if (value >= least) return;
    least = value;
    best = filled;
  };
  // The n fastest, all filled for T_n = work / (sum of their speeds), just do the work. T_n falls
  // with n, and those before were above `largest`: the best T is one of these, or `largest`.
  for (std::size_t n = 1; n <= speeds.size(); ++n) {
    together += speeds[n - 1];
    const double time = work / together;
    if (time <= largest) {  // these suffice within what is spent anyway
      offer(filled(work, speeds, largest));
      break;
    }
    offer({static_cast<double>(n) * time, time});
  }
  return best;
}

}  // namespace penstock::partition
