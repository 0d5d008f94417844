#include "layers/cpu/for_real.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

void throw_not_real(DType dtype, const char* operation) {
  throw DeviceError(
      fmt::format("{} on the CPU takes f32 or f64, not {}", operation, name_of(dtype)));
}

}  // namespace penstock::layers
