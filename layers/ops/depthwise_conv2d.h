#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layers/ops/conv2d.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// A 2-D convolution over frequency and time, each channel by itself, without bias:
/// torch.nn.Conv2d's cross-correlation with as many groups as channels. Rows of an activation and
/// ends of utterances are as in Conv2dGeometry.
struct DepthwiseConv2dGeometry {
  std::int64_t channels = 1;
  Conv2dAxis frequency, time;
  std::int64_t in_frequencies = 1;
  std::span<const std::int64_t> lengths;  // frames in, of each utterance

  std::int64_t out_frequencies() const { return frequency.outputs(in_frequencies); }
  std::vector<std::int64_t> out_lengths() const { return time.outputs(lengths); }
  std::int64_t in_columns() const { return in_frequencies * channels; }
  std::int64_t out_columns() const { return out_frequencies() * channels; }
  /// [channel, frequency kernel, time kernel].
  Shape weight_shape() const { return {channels, frequency.kernel, time.kernel}; }
  /// Bytes of scratch memory of each operation: the weights (or their gradient) transposed.
  std::size_t workspace(DType dtype) const {
    return static_cast<std::size_t>(element_count(weight_shape())) * size_of(arithmetic_of(dtype));
  }
};

/// y[t, f, c] = Σ over i, j of x[t·st + j - pt, f·sf + i - pf, c] · w[c, i, j].
struct DepthwiseConv2dForward {
  DepthwiseConv2dGeometry geometry;
  Tensor x_FC, weight, y_FC;
  std::span<std::byte> workspace;
};

/// dx from dy; dx is overwritten.
struct DepthwiseConv2dBackwardInput {
  DepthwiseConv2dGeometry geometry;
  Tensor dy_FC, weight, dx_FC;
  std::span<std::byte> workspace;
};

/// Adds the gradient of the weight to `dweight`.
struct DepthwiseConv2dBackwardWeight {
  DepthwiseConv2dGeometry geometry;
  Tensor x_FC, dy_FC, dweight;
  std::span<std::byte> workspace;
};

}  // namespace penstock::layers
