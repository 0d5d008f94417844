#include "layers/ops/conv1d.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/cpu/sizes.h"
#include "layers/cuda/convolution/convolution_sizes.h"

namespace penstock::layers {

// Zeros at both ends count as frames, so an utterance needs field() - left - right frames or more.
std::int64_t Conv1dGeometry::outputs(std::int64_t n) const {
  const std::int64_t beyond = n + left + right - field();
  if (beyond < 0)
    throw ShapeError(fmt::format("a convolution sees {} at once and was given {}",
                                 counted(field() - left - right, "frame"), n));
  return beyond / stride + 1;
}

std::vector<std::int64_t> Conv1dGeometry::out_lengths() const {
  std::vector<std::int64_t> out;
  out.reserve(lengths.size());
  for (const std::int64_t n : lengths) out.push_back(outputs(n));
  return out;
}

Workspace conv1d_workspace(const BackendSizes& sizes, const Conv1dGeometry& geometry) {
  return sizes.device == DeviceKind::cuda
             ? cuda::conv1d_workspace(geometry, sizes.compute)
             : cpu::conv1d_workspace(geometry, arithmetic_of(sizes.compute));
}

// CUDA's kernels keep their partial sums in the stream's own workspace.
std::size_t depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, const BackendSizes& sizes) {
  if (sizes.device == DeviceKind::cuda) return 0;
  return cpu::depthwise_conv1d_workspace(size, arithmetic_of(sizes.compute));
}

}  // namespace penstock::layers
