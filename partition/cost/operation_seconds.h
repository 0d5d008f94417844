#pragma once

#include <cstdint>
#include <span>

#include "partition/cost/device_rates.h"

namespace penstock::partition {

/// y_RC = a_RI · b_IC
struct ProductShape {
  double rows = 0, cols = 0, inner = 0;
};

/// Arithmetic alone, at `rate` operations a second of a device whose multiprocessors are all busy.
/// Whole tiles are computed, and a multiprocessor has whole ones: where their number leaves
/// multiprocessors idle, others wait for them (wave quantization; NVIDIA, "Matrix Multiplication
/// Background"). Fewer tiles than multiprocessors are cut along the inner index (split-K).
double product_seconds(const ProductShape& shape, double rate, const DeviceRates& rates);

/// The weights of a recurrence, all its gates' and directions', and what a step does with them.
struct RecurrenceWork {
  double weight_bytes = 0;      // of all directions
  double frame_operations = 0;  // of one frame, in all directions
};

/// One time step after the other, each of the utterances that have a frame left:
///   Σ_t time_step + max(weight bytes / bandwidth, operations / rate)
/// The time follows the longest utterance, not the frames of all.
double recurrence_seconds(const RecurrenceWork& work, std::span<const std::int64_t> lengths,
                          const DeviceRates& rates);

}  // namespace penstock::partition
