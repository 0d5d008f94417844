#pragma once

#include <cstdint>

#include "layers/cuda/core/block.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

/// Returns which of `outputs` positions saw input position `place` at step `step` of the kernel, or
/// -1 if none did. Positions are frames of one utterance or frequencies and fit 32 bits, in which a
/// division is several times as fast as in 64.
__device__ inline std::int64_t seen_from(const Conv2dAxis& axis, std::int64_t place,
                                         std::int64_t step, std::int64_t outputs) {
  const int from = static_cast<int>(place + axis.padding - step);
  const int stride = static_cast<int>(axis.stride);
  if (from < 0 || from % stride != 0 || from / stride >= outputs) return -1;
  return from / stride;
}

}  // namespace penstock::layers::cuda
