#pragma once

#include "layers/cuda/convolution/convolution.h"
#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {

/// Computes the gradient of a convolution's input in FP32, and overwrites it. It works on tiles of
/// as many output rows as fit the workspace. One product of dy and the filter gives the gradients
/// of a tile's windows, which are then summed into the input (col2im). If not even one row fits,
/// convolve_directly_to_input() runs instead.
///
/// cuDNN's only deterministic algorithm without TF32 takes 25 times as long as its forward pass on
/// an H100.
void convolve_to_input_by_products(CudaStream& stream, Products& products,
                                   const Convolution& convolution);

}  // namespace penstock::layers::cuda
