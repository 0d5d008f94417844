#pragma once

#include "layers/cuda/convolution/convolution.h"

namespace penstock::layers::cuda {

// Kernels of our own for convolutions that cuDNN has no algorithm for. They take any geometry, and
// loop over the taps in a fixed order. Sums are FP32, or FP64 for the filter's gradient, and are
// rounded once. The workspace is not used.

void convolve_directly(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_input(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_filter(CudaStream& stream, const Convolution& convolution);

}  // namespace penstock::layers::cuda
