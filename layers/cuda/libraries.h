#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include <memory>
#include <type_traits>

namespace penstock::layers::cuda {

template <class T, auto destroy>
struct DestroyLibrary {
  using pointer = T;
  void operator()(T handle) const { destroy(handle); }
};

/// Handles of NVIDIA's libraries, given back with the object; .get() is the library's own.
using CublasLt = std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>,
                                 DestroyLibrary<cublasLtHandle_t, cublasLtDestroy>>;
using Cudnn = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>,
                              DestroyLibrary<cudnnHandle_t, cudnnDestroy>>;

/// For the current device. DeviceError where the library does not start.
[[nodiscard]] CublasLt start_cublaslt();
[[nodiscard]] Cudnn start_cudnn();

}  // namespace penstock::layers::cuda
