#pragma once

#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {

/// Writes the product's bias into every row of its d.
void spread_bias(CudaStream& stream, const Product& product);

}  // namespace penstock::layers::cuda
