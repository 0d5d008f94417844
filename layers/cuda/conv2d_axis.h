#pragma once

#include <cstdint>

#include "layers/cuda/block.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

/// Which of `outputs` positions saw the one at `place` by this step of the kernel; -1: none.
/// Positions are of one utterance, or frequencies: 32 bits divide several times as fast as 64.
__device__ inline std::int64_t seen_from(const Conv2dAxis& axis, std::int64_t place,
                                         std::int64_t step, std::int64_t outputs) {
  const int from = static_cast<int>(place + axis.padding - step);
  const int stride = static_cast<int>(axis.stride);
  if (from < 0 || from % stride != 0 || from / stride >= outputs) return -1;
  return from / stride;
}

}  // namespace penstock::layers::cuda
