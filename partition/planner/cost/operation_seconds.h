#pragma once

#include <cstdint>
#include <span>

#include "partition/planner/cost/device_rates.h"

namespace penstock::partition {

/// The product y_RC = a_RI · b_IC.
struct ProductShape {
  double rows = 0, cols = 0, inner = 0;
};

/// Returns the arithmetic time of a product. `rate` is the operations per second of the device if
/// all multiprocessors are busy. A multiprocessor computes whole tiles, so the last wave may leave
/// some idle (wave quantization; NVIDIA, "Matrix Multiplication Background"). If there are fewer
/// tiles than multiprocessors, tiles are divided along the inner index (split-K).
double product_seconds(const ProductShape& shape, double rate, const DeviceRates& rates);

/// The weights of a recurrence, with all gates and directions, and the work of one step with them.
struct RecurrenceWork {
  double weight_bytes = 0;      // all directions
  double frame_operations = 0;  // one frame, all directions
};

/// Returns the time of a recurrence, which runs its time steps one after another. A step computes
/// the utterances that have a frame left. The time is
///   Σ_t time_step + max(weight bytes / bandwidth, operations / rate)
/// and follows the longest utterance, not the sum of frames.
double recurrence_seconds(const RecurrenceWork& work, std::span<const std::int64_t> lengths,
                          const DeviceRates& rates);

}  // namespace penstock::partition
