#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Depthwise convolution over the next frames of an utterance (Wang et al. 2016, "Lookahead
/// convolution layer for unidirectional recurrent neural networks"); K is the context, the present
/// frame included, and frames past the utterance's end are zero:
///   y[t, c] = Σ_k weight[c, k] · x[t + k, c]
/// f32 or f64; each operation takes lookahead_workspace bytes of scratch memory.
struct LookaheadForward {
  Tensor x_FC;
  Tensor y_FC;
  Tensor weight_CK;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// dx[t, c] = Σ_k weight[c, k] · dy[t - k, c]
struct LookaheadBackwardInput {
  Tensor dy_FC;
  Tensor dx_FC;
  Tensor weight_CK;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// d_weight[c, k] += Σ_t dy[t, c] · x[t + k, c]
struct LookaheadBackwardWeight {
  Tensor x_FC;
  Tensor dy_FC;
  Tensor d_weight_CK;
  std::span<const std::int64_t> lengths;
  std::span<std::byte> workspace;
};

/// Room for the weights (or their gradient) transposed.
inline std::size_t lookahead_workspace(std::int64_t channels, std::int64_t context, DType dtype) {
  return static_cast<std::size_t>(channels * context) * size_of(arithmetic_of(dtype));
}

}  // namespace penstock::layers
