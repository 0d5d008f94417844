#pragma once

#include <cstdint>

#include "configs/config.h"

namespace penstock::runtime {

/// Learning rate of step `step` (from 0, skipped steps not counted), as a function of the step
/// alone: linear warm-up from `peak`/warmup over the first `warmup` steps, then
///   constant      peak
///   exponential   peak · decay^((step − warmup) / decay_steps)
///   cosine        floor + (peak − floor) · (1 + cos(π·t)) / 2
///   polynomial    floor + (peak − floor) · (1 − t)^power
/// with t = (step − warmup) / (horizon − warmup), which stays at 1 behind the horizon.
double learning_rate(const configs::LrScheduleConfig& schedule, double peak, std::int64_t step);

}  // namespace penstock::runtime
