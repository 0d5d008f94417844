#pragma once

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers::cuda {

/// A matrix of which each warp takes a row, so that sums over a row are combined by shuffles.
struct WarpRows {
  static constexpr int kRowsOfBlock = 8;  // a warp each

  explicit WarpRows(const Tensor& x_FC)
      : rows(x_FC.shape.at(0)), channels(static_cast<int>(x_FC.shape.at(1))) {}
  Grid grid() const {
    return {dim3(static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock)),
            dim3(kRowsOfBlock * kWarp)};
  }
  /// Returns the row of the thread's warp, which may lie beyond the last one.
  static __device__ std::int64_t row() { return block_x() * kRowsOfBlock + thread_x() / kWarp; }

  std::int64_t rows;
  int channels;
};

}  // namespace penstock::layers::cuda
