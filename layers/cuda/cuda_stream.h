#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "layers/backend.h"
#include "layers/cuda/pinned_ring.h"
#include "layers/scratch.h"
#include "layers/tensor/cuda/handles.h"

namespace penstock::layers {

/// A CUDA stream with its own workspace (products that share one would not repeat) and pinned
/// memory through which everything from and to the host passes. Memory is allocated when first
/// asked for.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(std::function<void()> progress);
  void progress() override;
  void* native() override { return handle(); }

  cudaStream_t handle() const { return stream_.get(); }

  /// What cuBLASLt advises for Hopper.
  static constexpr std::size_t kWorkspaceBytes = stream_workspace({DeviceKind::cuda});
  /// kWorkspaceBytes of device memory for the operation being started; the next writes over it.
  void* workspace();
  /// The same, to be dealt out.
  Scratch scratch();

  /// `host` may change as soon as this returns.
  void copy_in(void* device, const void* host, std::size_t bytes);
  /// `host` is written by synchronize(), at the latest.
  void copy_out(void* host, const void* device, std::size_t bytes);
  void synchronize();

 private:
  struct Landing {
    std::byte* host;
    const std::byte* pinned;
    std::size_t bytes;
  };
  /// Memory for at most so many bytes from the device; drains the stream when all is in use.
  std::span<std::byte> landing_place(std::size_t bytes);
  /// Whoever waits looks after the messages: the stream may wait for one, whose sender has died.
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
