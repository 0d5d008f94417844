#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Convolution over the frames of an utterance, each channel by itself: torch.nn.Conv1d's
/// cross-correlation with as many groups as channels, stride 1 and as many frames out as in. K is
/// the kernel, of which `left` frames lie before the present one; frames outside of the utterance
/// are zero:
///   y[t, c] = Σ_k weight[c, k] · x[t + k - left, c]
/// f32 or f64; each operation takes depthwise_conv1d_workspace bytes of scratch memory.
struct DepthwiseConv1dForward {
  Tensor x_FC;
  Tensor y_FC;
  Tensor weight_CK;
  std::int64_t left = 0;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// dx[t, c] = Σ_k weight[c, k] · dy[t - k + left, c]
struct DepthwiseConv1dBackwardInput {
  Tensor dy_FC;
  Tensor dx_FC;
  Tensor weight_CK;
  std::int64_t left = 0;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// d_weight[c, k] += Σ_t dy[t, c] · x[t + k - left, c]
struct DepthwiseConv1dBackwardWeight {
  Tensor x_FC;
  Tensor dy_FC;
  Tensor d_weight_CK;
  std::int64_t left = 0;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// Room for the weights (or their gradient) transposed.
inline std::size_t depthwise_conv1d_workspace(std::int64_t channels, std::int64_t kernel,
                                              DType dtype) {
  return static_cast<std::size_t>(channels * kernel) * size_of(arithmetic_of(dtype));
}

}  // namespace penstock::layers
