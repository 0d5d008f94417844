#pragma once

#include "layers/layer_plan.h"

namespace penstock::partition {

/// What a device achieves with numbers of one format: operations a second by kind of work, as
/// LayerPlan counts them, bytes a second, and what a call takes besides.
struct DeviceRates {
  double product = 0, convolution = 0, recurrence = 0, elementwise = 0;
  double bandwidth = 0;  // bytes of memory a second
  double launch = 0;     // seconds that a method takes however small its work
  double attention = 0;  // operations a second; 0: as products

  // Products and convolutions are divided over multiprocessors in tiles of the output; where these
  // are too few, several share one's inner index in slices of so many numbers.
  int multiprocessors = 1, tile = 1, slice = 256;

  // A time step of a recurrence reads its weights from the cache, where they fit it.
  double cache_bytes = 0, cache_bandwidth = 0;
  double time_step = 0;       // seconds that one takes however small its work
  double weight_reading = 1;  // times as long as the bandwidth says, wherever weights come from
};

/// Rates to plan with where no device is named: those of configs/devices/cpu-avx2.toml and
/// h100.toml.
DeviceRates default_rates(const layers::BackendSizes& sizes);

}  // namespace penstock::partition
