#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "layers/tensor/buffer.h"

namespace penstock::layers::cuda {

// This file turns errors of CUDA into exceptions, and owns its handles.

/// Raises DeviceError "<doing>: <CUDA's name and text of the error>" unless `status` is success.
void check(cudaError_t status, const char* doing);

/// Owning handles of the CUDA runtime; .get() returns CUDA's own handle.
template <class T, cudaError_t (*destroy)(T)>
struct Destroy {
  using pointer = T;
  void operator()(T handle) const { destroy(handle); }
};
using StreamHandle =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStream_t, cudaStreamDestroy>>;
using EventHandle =
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEvent_t, cudaEventDestroy>>;

/// Makes a stream that does not wait for the NULL stream.
[[nodiscard]] StreamHandle make_stream_handle();
/// Makes an event that orders work and keeps no time.
[[nodiscard]] EventHandle make_event_handle();
/// Makes an event that also keeps time, for cudaEventElapsedTime.
[[nodiscard]] EventHandle make_timing_event_handle();

/// Allocates uninitialised memory of the current device. DeviceError says how much is free.
Buffer device_buffer(std::size_t bytes);
/// Allocates pinned host memory, with which copies run beside other work.
[[nodiscard]] Buffer pinned_buffer(std::size_t bytes);

}  // namespace penstock::layers::cuda
