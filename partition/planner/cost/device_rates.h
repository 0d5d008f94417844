#pragma once

#include "layers/layer_plan.h"

namespace penstock::partition {

/// DeviceRates holds the performance of a device in one number format. Operations per second are
/// given by kind of work, as LayerPlan counts operations.
struct DeviceRates {
  double product = 0, convolution = 0, recurrence = 0, elementwise = 0;
  double bandwidth = 0;  // bytes of memory per second
  double launch = 0;     // minimum seconds of a method, however small its work
  double attention = 0;  // operations per second; 0: as products

  // Products and convolutions are divided over the multiprocessors in tiles of the output. If there
  // are fewer tiles than multiprocessors, several of them share one tile, in slices of `slice`
  // numbers of the inner index (split-K).
  int multiprocessors = 1, tile = 1, slice = 256;

  // A time step of a recurrence reads its weights from the cache if they fit.
  double cache_bytes = 0, cache_bandwidth = 0;
  double time_step = 0;       // minimum seconds of a time step, however small its work
  double weight_reading = 1;  // factor on the time to read weights, from cache or memory
};

/// Returns the rates for planning without a named device. They are those of
/// configs/devices/cpu-avx2.toml and h100.toml.
DeviceRates default_rates(const layers::BackendSizes& sizes);

}  // namespace penstock::partition
