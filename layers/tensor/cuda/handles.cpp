#include "layers/tensor/cuda/handles.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "layers/tensor/cuda_versions.h"

namespace penstock::layers {

// A machine without a driver is no error here, since ranks on CPUs report their versions too.
CudaVersions cuda_versions() {
  CudaVersions versions;
  if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
  if (cudaRuntimeGetVersion(&versions.runtime) != cudaSuccess) versions.runtime = 0;
  return versions;
}

}  // namespace penstock::layers

namespace penstock::layers::cuda {
namespace {

EventHandle make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "making an event");
  return EventHandle(event);
}

}  // namespace

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw DeviceError(std::string(doing) + ": " + cudaGetErrorName(status) + ", " +
                    cudaGetErrorString(status));
}

StreamHandle make_stream_handle() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return StreamHandle(stream);
}

EventHandle make_event_handle() { return make_event(cudaEventDisableTiming); }

EventHandle make_timing_event_handle() { return make_event(cudaEventDefault); }

// CUDA gives null for 0 bytes, which would look like a tensor without data. The error is taken off
// CUDA's record, lest the next check of a launch reports it.
Buffer device_buffer(std::size_t bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, bytes == 0 ? 1 : bytes) == cudaSuccess)
    return Buffer(data, bytes, [](void* p) { cudaFree(p); });
  const cudaError_t status = cudaGetLastError();
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw DeviceError(
      fmt::format("{} bytes of device memory were requested, but {} of {} are free: {}; take more "
                  "stages or smaller micro-batches",
                  bytes, free, total, cudaGetErrorString(status)));
}

Buffer pinned_buffer(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes == 0 ? 1 : bytes), "allocating pinned host memory");
  return Buffer(data, bytes, [](void* p) { cudaFreeHost(p); });
}

}  // namespace penstock::layers::cuda
