#pragma once

#include "layers/tensor/dtype.h"

namespace penstock::layers {

[[noreturn]] void throw_not_real(DType dtype, const char* operation);

/// Calls `work` with a float or a double, as `dtype` says: the types that CPU kernels are compiled
/// for. Throws DeviceError with the operation's name for any other dtype.
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
