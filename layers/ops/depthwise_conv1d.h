#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Convolution over the frames of an utterance, each channel by itself: torch.nn.Conv1d's
/// cross-correlation with as many groups as channels, stride 1 and as many frames out as in. K is
/// the kernel, of which `left` frames lie before the present one; frames outside of the utterance
/// are zero:
///   y[t, c] = bias[c] + Σ_k weight[c, k] · g[t + k - left, c]
/// g is x; where `gated`, it is glu(x) (layers/ops/gate.h), and x has 2·C columns.
/// f32 or f64; each operation takes depthwise_conv1d_workspace bytes of scratch memory.
struct DepthwiseConv1dForward {
  Tensor x_FD;  // D is C, or 2·C where gated
  Tensor y_FC;
  Tensor weight_CK;
  Tensor bias_C;  // without data: none
  std::int64_t left = 0;
  bool gated = false;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// dg[t, c] = Σ_k weight[c, k] · dy[t - k + left, c]; dx is dg, or from dg and x as GateBackward
/// has it.
struct DepthwiseConv1dBackwardInput {
  Tensor x_FD;  // where gated
  Tensor dy_FC;
  Tensor dx_FD;
  Tensor weight_CK;
  std::int64_t left = 0;
  bool gated = false;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// d_weight[c, k] += Σ_t dy[t, c] · g[t + k - left, c]
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

/// Enough for any lengths of so many rows in all.
std::size_t depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, const BackendSizes& sizes);

}  // namespace penstock::layers
