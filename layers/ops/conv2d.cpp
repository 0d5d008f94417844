#include "layers/ops/conv2d.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "layers/cpu/sizes.h"
#include "layers/cuda/convolution/convolution_sizes.h"

namespace penstock::layers {

// The first window begins `padding` positions before the input, and the last one ends at most as
// many after it. Positions that no whole window covers any more are dropped.
std::int64_t Conv2dAxis::outputs(std::int64_t n) const {
  const std::int64_t beyond = n + 2 * padding - kernel;
  if (beyond < 0)
    throw ShapeError(
        fmt::format("a convolution's kernel of {} with padding {} needs at least {} positions and "
                    "was given {}",
                    kernel, padding, kernel - 2 * padding, n));
  return beyond / stride + 1;
}

std::vector<std::int64_t> Conv2dAxis::outputs(std::span<const std::int64_t> all) const {
  std::vector<std::int64_t> out;
  out.reserve(all.size());
  for (std::int64_t n : all) out.push_back(outputs(n));
  return out;
}

// Weights are in PyTorch's order, in which time is the innermost axis.
Shape Conv2dGeometry::weight_shape() const {
  if (depthwise) return {out_channels, frequency.kernel, time.kernel};
  return {out_channels, in_channels, frequency.kernel, time.kernel};
}

Workspace conv2d_sizes(const BackendSizes& sizes, const Conv2dGeometry& geometry) {
  return sizes.device == DeviceKind::cuda
             ? cuda::conv2d_workspace(geometry, sizes.compute)
             : cpu::conv2d_workspace(geometry, arithmetic_of(sizes.compute));
}

}  // namespace penstock::layers
