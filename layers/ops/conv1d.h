#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations convolve the frames of an utterance: groups of channels, or each channel by
// itself.

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

/// Convolves the frames of an utterance, each channel by itself: the cross-correlation of
/// torch.nn.Conv1d with as many groups as channels, stride 1 and as many output frames as input
/// frames. K is the kernel, of which `left` frames lie before the present one. Frames outside of
/// the utterance are zero:
///   y[t, c] = bias[c] + Σ_k weight[c, k] · g[t + k - left, c]
/// g is x. If `gated`, g is glu(x) (layers/ops/elementwise.h), and x has 2·C columns. Data are f32
/// or f64, and each operation takes a workspace of depthwise_conv1d_workspace bytes.
struct DepthwiseConv1dForward {
  Tensor x_FD;  // D is C, or 2·C if gated
  Tensor y_FC;
  Tensor weight_CK;
  Tensor bias_C;  // without data: none
  std::int64_t left = 0;
  bool gated = false;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// Computes dg[t, c] = Σ_k weight[c, k] · dy[t - k + left, c]. dx is dg, or if gated, follows from
/// dg and x as in GateBackward.
struct DepthwiseConv1dBackwardInput {
  Tensor x_FD;  // needed if gated
  Tensor dy_FC;
  Tensor dx_FD;
  Tensor weight_CK;
  std::int64_t left = 0;
  bool gated = false;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// Adds the gradient of the weight: d_weight[c, k] += Σ_t dy[t, c] · g[t + k - left, c].
struct DepthwiseConv1dBackwardWeight {
  Tensor x_FD;
  Tensor dy_FC;
  Tensor d_weight_CK;
  std::int64_t left = 0;
  bool gated = false;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

struct DepthwiseConv1dSize {
  std::int64_t rows = 0, kernel = 0;
};

/// Returns a workspace, in bytes, that suffices for any lengths with `rows` rows in total.
std::size_t depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, const BackendSizes& sizes);

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

template <class Operands>
void operands(Operands& w, DepthwiseConv1dForward& op) {
  w.reads(op.x_FD, op.weight_CK, op.bias_C);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, DepthwiseConv1dBackwardInput& op) {
  w.reads(op.x_FD, op.dy_FC, op.weight_CK);
  w.writes(op.dx_FD);
}

template <class Operands>
void operands(Operands& w, DepthwiseConv1dBackwardWeight& op) {
  w.reads(op.x_FD, op.dy_FC);
}

}  // namespace penstock::layers
