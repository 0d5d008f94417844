#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "layers/backend.h"
#include "layers/cuda/core/pinned_ring.h"
#include "layers/scratch.h"
#include "layers/tensor/cuda/handles.h"

namespace penstock::layers {

/// A CUDA stream with its own workspace, and with pinned memory through which copy_in() and
/// copy_out() stage all data. Products of two streams that shared a workspace would not be
/// deterministic. Memory is allocated on first use.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(std::function<void()> progress);
  void progress() override;
  void* native() override { return handle(); }

  cudaStream_t handle() const { return stream_.get(); }

  /// The size that cuBLASLt recommends for Hopper.
  static constexpr std::size_t kWorkspaceBytes = stream_workspace({DeviceKind::cuda});
  /// Returns kWorkspaceBytes of device memory for the operation that is being enqueued. The next
  /// operation overwrites it.
  void* workspace();
  /// Returns the same memory as an allocator.
  Scratch scratch();

  /// Enqueues a copy to the device. `host` may change as soon as this returns.
  void copy_in(void* device, const void* host, std::size_t bytes);
  /// Enqueues a copy from the device. `host` is written by synchronize(), at the latest.
  void copy_out(void* host, const void* device, std::size_t bytes);
  void synchronize();

 private:
  struct Landing {
    std::byte* host;
    const std::byte* pinned;
    std::size_t bytes;
  };
  /// Returns pinned memory for at most so many bytes from the device. Synchronizes the stream if
  /// all of it is in use.
  std::span<std::byte> landing_place(std::size_t bytes);
  /// Waits for an event, and calls progress() meanwhile: the stream may be waiting for a message
  /// whose sender has died.
  void wait_for(cudaEvent_t event);

  std::function<void()> progress_;
  cuda::StreamHandle stream_;
  Buffer workspace_;
  cuda::PinnedRing departures_{[this](cudaEvent_t event) { wait_for(event); }};
  Buffer arrivals_;
  std::size_t arrivals_in_use_ = 0;
  std::vector<Landing> landings_;
};

}  // namespace penstock::layers
