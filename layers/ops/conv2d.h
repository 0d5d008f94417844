#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Kernel, stride and zero padding (at both ends) along one axis.
struct Conv2dAxis {
  std::int64_t kernel = 1, stride = 1, padding = 0;

  /// Returns the output positions for n input positions: (n + 2·padding - kernel) / stride + 1.
  /// ShapeError if the kernel does not fit.
  std::int64_t outputs(std::int64_t n) const;
  /// Returns the same for each of several inputs.
  std::vector<std::int64_t> outputs(std::span<const std::int64_t> all) const;
};

/// A 2-D convolution over frequency and time: the cross-correlation of torch.nn.Conv2d. A row of an
/// activation is one frame, [frequency][channel], channels innermost. Utterances lie end to end;
/// each is padded by zeros in time as if it were alone.
struct Conv2dGeometry {
  std::int64_t in_channels = 1, out_channels = 1;
  Conv2dAxis frequency, time;
  std::int64_t in_frequencies = 1;
  std::span<const std::int64_t> lengths;  // input frames of each utterance
  bool depthwise = false;  // each channel by itself: as many output channels as input channels

  std::int64_t out_frequencies() const { return frequency.outputs(in_frequencies); }
  std::vector<std::int64_t> out_lengths() const { return time.outputs(lengths); }
  std::int64_t in_columns() const { return in_frequencies * in_channels; }
  std::int64_t out_columns() const { return out_frequencies() * out_channels; }
  /// Returns [out, in, frequency kernel, time kernel], or depthwise [channel, frequency kernel,
  /// time kernel].
  Shape weight_shape() const;
};

/// Returns the workspace of the operations below, in bytes. On CUDA it bounds what cuDNN may take.
Workspace conv2d_sizes(const BackendSizes& sizes, const Conv2dGeometry& geometry);

/// Computes y[t, f, o] = b[o] + sum over c, i, j of x[t·st + j - pt, f·sf + i - pf, c] · w[o, c, i,
/// j]. Depthwise, c is o alone. In 16 bits, cuDNN's dense convolutions round the sums before b is
/// added.
struct Conv2dForward {
  Conv2dGeometry geometry;
  Tensor x_FC, weight, y_FC;
  std::span<std::byte> workspace;
  Tensor bias_O = {};  // without data: none
};

/// Computes dx from dy; dx is overwritten.
struct Conv2dBackwardInput {
  Conv2dGeometry geometry;
  Tensor dy_FC, weight, dx_FC;
  std::span<std::byte> workspace;
};

/// Adds the gradient of the weight to `dweight`.
struct Conv2dBackwardWeight {
  Conv2dGeometry geometry;
  Tensor x_FC, dy_FC, dweight;
  std::span<std::byte> workspace;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, Conv2dForward& op) {
  w.reads(op.x_FC, op.weight, op.bias_O);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, Conv2dBackwardInput& op) {
  w.reads(op.dy_FC, op.weight);
  w.writes(op.dx_FC);
}

template <class Operands>
void operands(Operands& w, Conv2dBackwardWeight& op) {
  w.reads(op.x_FC, op.dy_FC);
}

}  // namespace penstock::layers
