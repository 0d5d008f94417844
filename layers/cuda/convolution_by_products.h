#pragma once

#include "layers/cuda/convolution.h"
#include "layers/cuda/product.h"

namespace penstock::layers::cuda {

/// The gradient of a convolution's input in FP32, overwritten, by products: what each place of the
/// output says of all that it saw, tile by tile in the workspace, and then their sums. cuDNN's only
/// algorithm without TF32 that repeats its bits takes 25 times as long as forward does, on an H100.
void convolve_to_input_by_products(CudaStream& stream, Products& products,
                                   const Convolution& convolution);

}  // namespace penstock::layers::cuda
