#pragma once

#include "layers/cuda/convolution/convolution.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/products/product.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers::cuda {

// These kernels of our own convolve where cuDNN has no algorithm or a slow one.

/// Computes the gradient of a convolution's input in FP32, and overwrites it. It works on tiles of
/// as many output rows as fit the workspace. One product of dy and the filter gives the gradients
/// of a tile's windows, which are then summed into the input (col2im). If not even one row fits,
/// convolve_directly_to_input() runs instead.
///
/// cuDNN's only deterministic algorithm without TF32 takes 25 times as long as its forward pass on
/// an H100.
void convolve_to_input_by_products(CudaStream& stream, Products& products,
                                   const Convolution& convolution);

/// Computes convolutions of each channel by itself, with kernels of our own: cuDNN has no fast
/// ones.
void convolve_depthwise(CudaStream&, const Conv2dForward&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardInput&);
void convolve_depthwise(CudaStream&, const Conv2dBackwardWeight&);

// Kernels of our own for convolutions that cuDNN has no algorithm for. They take any geometry, and
// loop over the taps in a fixed order. Sums are FP32, or FP64 for the filter's gradient, and are
// rounded once. The workspace is not used.

void convolve_directly(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_input(CudaStream& stream, const Convolution& convolution);
void convolve_directly_to_filter(CudaStream& stream, const Convolution& convolution);

}  // namespace penstock::layers::cuda
