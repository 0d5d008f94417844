#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "layers/backend.h"
#include "layers/scratch.h"
#include "layers/tensor/cuda/handles.h"

namespace penstock {

/// A CUDA stream with its own workspace (products that share one would not repeat) and pinned
/// memory through which everything from and to the host passes.
class CudaStream final : public Stream {
 public:
  CudaStream();

  cudaStream_t handle() const { return stream_.get(); }

  /// What cuBLASLt advises for Hopper.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
  /// kWorkspaceBytes of device memory for the operation being started; the next writes over it.
  void* workspace() const { return workspace_.data(); }
  /// The same, to be dealt out.
  Scratch scratch() const { return Scratch({workspace_.data(), workspace_.bytes()}); }

  /// `host` may change as soon as this returns.
  void copy_in(void* device, const void* host, std::size_t bytes);
  /// `host` is written by finish(), at the latest.
  void copy_out(void* host, const void* device, std::size_t bytes);
  void finish();

 private:
  struct Landing {
    std::byte* host;
    const std::byte* pinned;
    std::size_t bytes;
  };
  /// Free pinned memory of at most `bytes`, and how much; drains the stream when all is in use.
  std::byte* stage(std::size_t bytes, std::size_t& granted);

  cuda::StreamHandle stream_;
  Buffer workspace_;
  Buffer pinned_;
  std::size_t pinned_in_use_ = 0;
  std::vector<Landing> landings_;
};

}  // namespace penstock
