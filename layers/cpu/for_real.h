#pragma once

#include "layers/tensor/dtype.h"

namespace penstock::layers {

[[noreturn]] void throw_not_real(DType dtype, const char* operation);

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
      throw_not_real(dtype, operation);
  }
}

}  // namespace penstock::layers
