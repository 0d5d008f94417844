#pragma once

#include "tests/emulated_cuda/emulation/cudnn/descriptions.h"

namespace emulated_cuda::cudnn {

/// A convolution's operands as they were when it was asked for; the data of one of them is written.
struct Convolution {
  cudnnTensorStruct in, out;
  cudnnFilterStruct filter;
  cudnnConvolutionStruct how;
  void *in_data = nullptr, *out_data = nullptr, *filter_data = nullptr;
};

enum class Wanted { out, in_gradient, filter_gradient };

/// Whether shapes and types fit each other and are such as penstock has; else cuDNN's error.
cudnnStatus_t check(const Convolution& convolution);

/// Runs as one operation of a stream and writes alpha times sums in FP32.
void compute(const Convolution& convolution, Wanted wanted, float alpha);

}  // namespace emulated_cuda::cudnn
