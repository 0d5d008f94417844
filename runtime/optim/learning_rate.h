#pragma once

#include <cstdint>

#include "configs/config.h"

namespace penstock::runtime {

/// Returns the learning rate of step `step`, which counts from 0 without skipped steps. It depends
/// on the step alone. It rises linearly from `peak`/warmup to `peak` over the first `warmup` steps,
/// and then follows the schedule:
///   constant      peak
///   exponential   peak · decay^((step − warmup) / decay_steps)
///   cosine        floor + (peak − floor) · (1 + cos(π·t)) / 2
///   polynomial    floor + (peak − floor) · (1 − t)^power
/// with t = (step − warmup) / (horizon − warmup), at most 1. `floor` is min_lr and `horizon` is
/// total_steps of the schedule.
double learning_rate(const configs::LrScheduleConfig& schedule, double peak, std::int64_t step);

}  // namespace penstock::runtime
