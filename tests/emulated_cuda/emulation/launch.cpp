#include "tests/emulated_cuda/emulation/launch.h"

#include <utility>

#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

/// Says whether sm_90 takes a launch of this size.
bool fits(const dim3& blocks, const dim3& threads) {
  return blocks.x > 0 && blocks.y > 0 && blocks.z > 0 && blocks.x < 1u << 31 &&
         blocks.y < 1u << 16 && blocks.z < 1u << 16 && threads.x > 0 && threads.y > 0 &&
         threads.z > 0 && threads.x <= 1024 && threads.y <= 1024 && threads.z <= 64 &&
         threads.x * threads.y * threads.z <= 1024;
}

}  // namespace

cudaError_t queue_launch(Launch launch, cudaStream_t stream) {
  Call call("cudaLaunchKernelEx");
  if (!fits(launch.blocks, launch.threads)) return call.error(cudaErrorInvalidConfiguration);
  // More than what may be declared takes an attribute of the function, which penstock never sets.
  if (launch.dynamic_shared_bytes > SharedMemory::kMaxDeclared)
    return call.error(cudaErrorInvalidValue);
  CUstream_st& own = call.stream(stream);
  call.load(own.device, launch.kernel);
  ++machine().issued.launches;
  call.queue(own, [kept = std::make_shared<const Launch>(std::move(launch))] {
    run_grid(*kept, machine().order);
  });
  return cudaSuccess;
}

void check_kernel_argument(const void* argument) {
  const Call call("cudaLaunchKernelEx");
  Memory& memory = machine().memory;
  if (memory.device(call.host().device).holds(argument, 0)) return;
  if (memory.kind_of(argument) != kHostMemory || watch().is_of_host(argument))
    fail("a kernel of device ", call.host().device, " is given ", argument, ", ",
         memory.kind_of(argument));
}

void check_kernel_word(const void* word) {
  bool pointer = false;
  {
    const Call call("cudaLaunchKernelEx");
    pointer = machine().memory.may_be_pointer(word);
  }
  if (pointer) check_kernel_argument(word);
}

}  // namespace emulated_cuda
