#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace emulated_cuda {

/// A kernel with copies of its arguments.
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  /// Runs the kernel's code as one thread.
  virtual void run() const = 0;
};

struct Launch {
  dim3 blocks, threads;
  std::size_t dynamic_shared_bytes = 0;
  const void* kernel = nullptr;  // its code, for errors
  std::unique_ptr<const KernelCall> call;
};

/// Queues the launch. An error of CUDA's where the configuration is beyond what sm_90 takes.
cudaError_t queue_launch(Launch launch, cudaStream_t stream);

/// fail() where an argument of a kernel points to what the device can't read: memory of the host,
/// another device's, or what was freed.
void check_kernel_argument(const void* argument);
/// The same of a word in a struct, which may also be numbers, or what compilers leave between them.
void check_kernel_word(const void* word);

}  // namespace emulated_cuda
