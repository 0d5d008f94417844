#pragma once

#include <string>

#include "base/error.h"
#include "layers/tensor/dtype.h"

namespace penstock::layers {

/// Calls `work` with a float or a double, whichever `dtype` names: the types that CPU kernels are
/// compiled for. DeviceError naming `operation` for another.
template <class Work>
void for_real(DType dtype, const char* operation, Work work) {
  switch (dtype) {
    case DType::f32:
      return work(float{});
    case DType::f64:
      return work(double{});
    default:
      throw DeviceError(std::string(operation) + " on the CPU takes f32 or f64, not " +
                        std::string(name_of(dtype)));
  }
}

}  // namespace penstock::layers
