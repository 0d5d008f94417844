#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Convolves the frames of an utterance, each channel by itself: the cross-correlation of
/// torch.nn.Conv1d with as many groups as channels, stride 1 and as many output frames as input
/// frames. K is the kernel, of which `left` frames lie before the present one. Frames outside of
/// the utterance are zero:
///   y[t, c] = bias[c] + Σ_k weight[c, k] · g[t + k - left, c]
/// g is x. If `gated`, g is glu(x) (layers/ops/gate.h), and x has 2·C columns. Data are f32 or f64,
/// and each operation takes a workspace of depthwise_conv1d_workspace bytes.
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
