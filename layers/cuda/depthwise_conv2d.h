#pragma once

#include "layers/cuda/cuda_stream.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

/// Own kernels for convolutions of each channel by itself, which cuDNN has no fast ones for.
void convolve_depthwise(CudaStream&, const Conv2dForward&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardInput&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardWeight&);

}  // namespace penstock::layers::cuda
