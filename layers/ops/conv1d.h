#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// A 1-D convolution over the frames within each utterance, as in torch.nn.Conv1d. Zeros are put
/// before an utterance's first frame and after its last one. They are fewer than the field, so no
/// output sees zeros alone.
struct Conv1dGeometry {
  std::int64_t in_channels = 1, out_channels = 1;
  std::int64_t groups = 1;  // groups of channels, each convolved by itself; they divide both
  std::int64_t kernel = 1, stride = 1;
  std::int64_t dilation = 1;                   // distance of taps in frames
  std::int64_t left = 0, right = 0;            // frames of zeros before and after
  std::span<const std::int64_t> lengths = {};  // input frames of each utterance

  /// Returns the frames that one output sees, from the first to the last.
  std::int64_t field() const { return dilation * (kernel - 1) + 1; }
  /// Returns the output frames for n input frames: (n + left + right - field) / stride + 1.
  /// ShapeError if there are none.
  std::int64_t outputs(std::int64_t n) const;
  std::vector<std::int64_t> out_lengths() const;
  std::int64_t group_in() const { return in_channels / groups; }
  std::int64_t group_out() const { return out_channels / groups; }
  /// Returns [out, in of a group, kernel].
  Shape weight_shape() const { return {out_channels, group_in(), kernel}; }
};

/// Returns the workspace of the operations below, in bytes.
Workspace conv1d_workspace(const BackendSizes& sizes, const Conv1dGeometry& geometry);

/// Computes, with c over the channels of o's group:
///   y[t, o] = bias[o] + Σ_ck weight[o, c, k] · x[t · stride + k · dilation - left, c]
struct Conv1dForward {
  Conv1dGeometry geometry;
  Tensor x_FC, weight_OCK, y_FO;
  std::span<std::byte> workspace;
  Tensor bias_O = {};  // without data: none
};

/// Computes dx from dy; dx is overwritten.
struct Conv1dBackwardInput {
  Conv1dGeometry geometry;
  Tensor dy_FO, weight_OCK, dx_FC;
  std::span<std::byte> workspace;
};

/// Adds the gradient of the weight to `d_weight_OCK`.
struct Conv1dBackwardWeight {
  Conv1dGeometry geometry;
  Tensor x_FC, dy_FO, d_weight_OCK;
  std::span<std::byte> workspace;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, Conv1dForward& op) {
  w.reads(op.x_FC, op.weight_OCK, op.bias_O);
  w.writes(op.y_FO);
}

template <class Operands>
void operands(Operands& w, Conv1dBackwardInput& op) {
  w.reads(op.dy_FO, op.weight_OCK);
  w.writes(op.dx_FC);
}

template <class Operands>
void operands(Operands& w, Conv1dBackwardWeight& op) {
  w.reads(op.x_FC, op.dy_FO);
}

}  // namespace penstock::layers
