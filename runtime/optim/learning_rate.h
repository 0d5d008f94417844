#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "configs/config.h"

namespace penstock::runtime {

/// Returns the learning rate of step `step`, which counts from 0 without skipped steps, in parts of
/// a step if the batch changes (batch_scaling.h). It depends on the step alone. It rises linearly
/// from `peak`/warmup to `peak` over the first `warmup` steps, and then follows the schedule:
///   constant      peak
///   exponential   peak · decay^((step − warmup) / decay_steps)
///   cosine        floor + (peak − floor) · (1 + cos(π·t)) / 2
///   polynomial    floor + (peak − floor) · (1 − t)^power
/// with t = (step − warmup) / (horizon − warmup), at most 1. `floor` is min_lr and `horizon` is
/// total_steps of the schedule.
inline double learning_rate(const configs::LrScheduleConfig& schedule, double peak, double step) {
  const auto warmup = static_cast<double>(schedule.warmup);
  if (step < warmup) return std::min(peak, peak * (step + 1.0) / warmup);
  const double since = step - warmup;
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
