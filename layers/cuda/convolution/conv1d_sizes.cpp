#include "layers/cuda/convolution/conv1d_sizes.h"

#include <algorithm>

namespace penstock::layers::cuda {
namespace {

constexpr std::int64_t kTileNumbers = 16 << 20;  // 64 MiB in FP32
constexpr std::int64_t kMinRows = 64;            // a product of fewer leaves the device idle

}  // namespace

std::int64_t conv1d_tile_rows(const Conv1dGeometry& geometry) {
  return std::max(kMinRows, kTileNumbers / (geometry.kernel * geometry.in_channels));
}

Conv1dRoom::Conv1dRoom(Scratch& scratch, const Conv1dGeometry& geometry, DType compute)
    : in(scratch, geometry.lengths), out(scratch, geometry.lengths) {
  // A tile of inputs is seen by at most as many outputs as it has rows, and by some more at both
  // ends.
  const std::int64_t ends = 2 * (geometry.field() / geometry.stride + 1);
  const std::int64_t rows = std::min(conv1d_tile_rows(geometry) + ends, rows_of(geometry.lengths));
  windows = scratch.take<std::byte>(rows * geometry.kernel * geometry.in_channels *
                                    static_cast<std::int64_t>(size_of(compute)));
}

Workspace conv1d_workspace(const Conv1dGeometry& geometry, DType compute) {
  Scratch counted;
  Conv1dRoom(counted, geometry, compute);
  return {counted.used(), counted.used(), counted.used()};
}

}  // namespace penstock::layers::cuda
