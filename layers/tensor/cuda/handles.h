#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "layers/tensor/buffer.h"

namespace penstock::layers::cuda {

/// Handles of the CUDA runtime, given back with the object; .get() is CUDA's own.
template <class T, cudaError_t (*destroy)(T)>
struct Destroy {
  using pointer = T;
  void operator()(T handle) const { destroy(handle); }
};
using StreamHandle =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStream_t, cudaStreamDestroy>>;
using EventHandle =
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEvent_t, cudaEventDestroy>>;

/// A stream that does not wait for the NULL stream.
[[nodiscard]] StreamHandle make_stream_handle();
/// An event that orders and keeps no time.
[[nodiscard]] EventHandle make_event_handle();
/// One that keeps time as well, for cudaEventElapsedTime.
[[nodiscard]] EventHandle make_timing_event_handle();

/// Memory of the current device, uninitialised. DeviceError says how much was free.
Buffer device_buffer(std::size_t bytes);
/// Host memory from and to which copies run beside other work.
[[nodiscard]] Buffer pinned_buffer(std::size_t bytes);

}  // namespace penstock::layers::cuda
