#pragma once

#include "layers/cuda/product.h"

namespace penstock::layers::cuda {

/// A kernel of ours for products that cuBLASLt has no algorithm for: any layout, one thread for
/// each number of d, FP32 sums in the order of the inner dimension, rounded once with the bias.
void multiply_directly(CudaStream& stream, const Product& product);

}  // namespace penstock::layers::cuda
