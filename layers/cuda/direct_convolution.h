#pragma once

#include "layers/cuda/convolution.h"

namespace penstock::layers::cuda {

// Own kernels for convolutions that cuDNN has no algorithm for: any geometry, a plain loop over the
// taps, always in the same order. Sums are FP32, those of the filter's gradient FP64, and rounded
// once. The workspace is not touched.

void convolve_directly(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_input(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_filter(CudaStream& stream, const Convolution& convolution);

}  // namespace penstock::layers::cuda
