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

/// Owning handles of NVIDIA's libraries; .get() returns the library's own handle.
using CublasLt = std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>,
                                 DestroyLibrary<cublasLtHandle_t, cublasLtDestroy>>;
using Cudnn = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>,
                              DestroyLibrary<cudnnHandle_t, cudnnDestroy>>;

/// Starts the library on the current device. Throws DeviceError if it does not start.
[[nodiscard]] CublasLt start_cublaslt();
[[nodiscard]] Cudnn start_cudnn();

}  // namespace penstock::layers::cuda
