#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "layers/tensor/tensor.h"

namespace penstock::layers::cuda {

/// Converts to float. Kernels store numbers as T and compute in float, or in double for long sums.
__host__ __device__ inline float to_float(float value) { return value; }
__host__ __device__ inline float to_float(__half value) { return __half2float(value); }
__host__ __device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

/// Rounds to nearest, ties to even.
template <class T>
__host__ __device__ T from_float(float value);
template <>
__host__ __device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__host__ __device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__host__ __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// These format their texts in numbers.cpp, which g++ compiles, because nvcc does not see the
// formatting library.
[[noreturn]] void throw_no_kernel(const char* operation, DType dtype);
[[noreturn]] void throw_other_type(DType wanted, DType found);
[[noreturn]] void throw_head_too_wide(std::int64_t channels, std::int64_t max);
[[noreturn]] void throw_two_positions();

/// Calls body(T{}) with the number type of `tensor`. Throws DeviceError if `operation` does not
/// take it.
template <class Body>
void with_type_of(const Tensor& tensor, const char* operation, Body body) {
  switch (tensor.dtype) {
    case DType::f32:
      return body(float{});
    case DType::f16:
      return body(__half{});
    case DType::bf16:
      return body(__nv_bfloat16{});
    default:
      throw_no_kernel(operation, tensor.dtype);
  }
}

template <class T>
struct TypeOf;  // the DType of CUDA's type
template <>
struct TypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct TypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct TypeOf<__half> {
  static constexpr DType value = DType::f16;
};
template <>
struct TypeOf<__nv_bfloat16> {
  static constexpr DType value = DType::bf16;
};

/// Returns the tensor's numbers as CUDA's type T. Throws ShapeError if they have another type.
template <class T>
T* data_of(const Tensor& tensor) {
  if (tensor.dtype != TypeOf<T>::value) throw_other_type(TypeOf<T>::value, tensor.dtype);
  return static_cast<T*>(tensor.data);
}

}  // namespace penstock::layers::cuda
