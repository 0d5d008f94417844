#include "layers/scratch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

// A correct layer never gets here, since its plan counts the same calls of take(). The message is
// formatted here, so that the header need not include fmt.
void Scratch::throw_too_small() const {
  throw ShapeError(
      fmt::format("an operation needs a workspace of at least {} bytes and was given {}: pass what "
                  "its sizes function declares",
                  used_, memory_.size()));
}

Tensor tensor_in(Scratch& scratch, DType dtype, const Shape& shape) {
  const std::int64_t bytes = element_count(shape) * static_cast<std::int64_t>(size_of(dtype));
  return {scratch.take<std::byte>(bytes), dtype, shape};
}

}  // namespace penstock::layers
