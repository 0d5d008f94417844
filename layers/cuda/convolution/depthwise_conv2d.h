#pragma once

#include "layers/cuda/core/cuda_stream.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

/// Computes convolutions of each channel by itself, with kernels of our own: cuDNN has no fast
/// ones.
void convolve_depthwise(CudaStream&, const Conv2dForward&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardInput&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardWeight&);

}  // namespace penstock::layers::cuda
