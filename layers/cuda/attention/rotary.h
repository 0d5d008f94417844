#pragma once

#include <cmath>
#include <cstdint>

#include "layers/cuda/core/block.h"

namespace penstock::layers::cuda {

/// Returns the angle by which rotary positions turn channel c < half of a frame, in FP64: frame ·
/// base^(-c / half).
__device__ inline double rotary_angle(double base, std::int64_t frame, int c, int half) {
  return static_cast<double>(frame) * pow(base, -static_cast<double>(c) / half);
}

}  // namespace penstock::layers::cuda
