#pragma once

#include <fmt/format.h>

#include <vector>

#include "layers/cuda/convolution/convolution_passes.h"

namespace penstock::layers::cuda {

/// Returns true if cuDNN says that it has no such algorithm, with or without a reason.
inline bool is_refusal(cudnnStatus_t status) {
  return CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED;
}

/// Returns the math type with which the heuristic is asked; it lists what that permits.
/// CUDNN_DEFAULT_MATH lets FP32 be multiplied in TF32, CUDNN_FMA_MATH does not.
inline cudnnMathType_t permitted_math(DType dtype, Fp32Products of_fp32) {
  if (dtype != DType::f32) return CUDNN_TENSOR_OP_MATH;
  return of_fp32 == Fp32Products::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

/// Returns all that cuDNN's heuristic lists for a pass with that math type, the fastest first by
/// its own estimate. Returns nothing if cuDNN has no algorithm. Throws DeviceError with the shapes
/// if it fails.
template <class Pass>
std::vector<typename Pass::Listed> algorithms_for(cudnnHandle_t library, const Convolution& c,
                                                  const ConvolutionDescription& of,
                                                  cudnnMathType_t permitted) {
  of.use(permitted);
  constexpr int kMax = 32;  // more than cuDNN has of a kind, with every math type
  std::vector<typename Pass::Listed> listed(kMax);
  int found = 0;
  const cudnnStatus_t status = Pass::list(library, of, kMax, &found, listed.data());
  if (!is_refusal(status) && status != CUDNN_STATUS_SUCCESS)
    check(status, fmt::format("choosing an algorithm for {}, {}", text_of(c), Pass::kName));
  listed.resize(is_refusal(status) ? 0 : static_cast<std::size_t>(found));
  return listed;
}

}  // namespace penstock::layers::cuda
