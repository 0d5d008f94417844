#pragma once

#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {

/// Multiplies by a kernel of our own, for products that cuBLASLt has no algorithm for. It takes any
/// layout, with one thread for each number of d. Sums are FP32 in the order of the inner dimension,
/// and are rounded once, with the bias.
void multiply_directly(CudaStream& stream, const Product& product);

}  // namespace penstock::layers::cuda
