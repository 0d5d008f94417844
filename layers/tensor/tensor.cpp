#include "layers/tensor/tensor.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace penstock::layers {

// Sizes come from configurations and checkpoints, where a typing error may be any number.
std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      throw ShapeError(
          fmt::format("a tensor's size {} is negative, or its element count exceeds 2^63", size));
  return count;
}

void Tensor::throw_other_dtype(DType wanted) const {
  throw ShapeError("a tensor of " + std::string(name_of(dtype)) + " was used as " +
                   std::string(name_of(wanted)));
}

}  // namespace penstock::layers
