#pragma once

#include <cstdint>

#include "layers/cuda/block.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

/// Which of `outputs` positions saw the one at `place` by this step of the kernel; -1: none.
__device__ inline std::int64_t seen_from(const Conv2dAxis& axis, std::int64_t place,
                                         std::int64_t step, std::int64_t outputs) {
  const std::int64_t from = place + axis.padding - step;
  if (from < 0 || from % axis.stride != 0 || from / axis.stride >= outputs) return -1;
  return from / axis.stride;
}

}  // namespace penstock::layers::cuda
