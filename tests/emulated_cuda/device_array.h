#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <vector>

#include "base/error.h"
#include "layers/tensor/cuda/handles.h"

namespace emulated_cuda::test {

using penstock::layers::Buffer;
using penstock::layers::cuda::check;

/// Numbers on the device, copied in and out through pinned memory.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size)
      : size_(size),
        device_(penstock::layers::cuda::device_buffer(size * sizeof(T))),
        pinned_(penstock::layers::cuda::pinned_buffer(size * sizeof(T))) {}

  T* data() const { return reinterpret_cast<T*>(device_.data()); }
  std::span<T> pinned() const { return {reinterpret_cast<T*>(pinned_.data()), size_}; }

  void upload(cudaStream_t stream) const {
    check(cudaMemcpyAsync(data(), pinned_.data(), bytes(), cudaMemcpyHostToDevice, stream), "up");
  }
  void download(cudaStream_t stream) const {
    check(cudaMemcpyAsync(pinned_.data(), data(), bytes(), cudaMemcpyDeviceToHost, stream), "down");
  }
  /// Waits for the stream.
  std::vector<T> values(cudaStream_t stream) const {
    download(stream);
    check(cudaStreamSynchronize(stream), "waiting");
    return {pinned().begin(), pinned().end()};
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  penstock::layers::Buffer device_, pinned_;
};

}  // namespace emulated_cuda::test
