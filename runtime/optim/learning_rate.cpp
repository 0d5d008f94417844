#include "runtime/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock::runtime {

double learning_rate(const configs::LrScheduleConfig& schedule, double peak, std::int64_t step) {
  if (step < schedule.warmup) return peak * (step + 1.0) / schedule.warmup;
  const double since = static_cast<double>(step - schedule.warmup);
  if (schedule.kind == "exponential")
    return peak * std::pow(schedule.decay, since / schedule.decay_steps);
  if (schedule.kind == "constant") return peak;
  const double span =
      static_cast<double>(std::max<std::int64_t>(1, schedule.total_steps - schedule.warmup));
  const double t = std::min(1.0, since / span);
  const double left = schedule.kind == "cosine" ? (1 + std::cos(std::numbers::pi * t)) / 2
                                                : std::pow(1 - t, schedule.power);
  return schedule.min_lr + (peak - schedule.min_lr) * left;
}

}  // namespace penstock::runtime
