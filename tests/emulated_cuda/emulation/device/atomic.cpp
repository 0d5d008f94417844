#include "tests/emulated_cuda/emulation/device/atomic.h"

#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {

void before_atomic(const void* place, std::size_t bytes) {
  const Unobserved unobserved;
  if (running_order().chance(4)) {
    running_block().threads.rearrange(running_order());
    running_block().threads.give_way();
  }
  watch().atomic(place, bytes, __builtin_return_address(0));
}

}  // namespace emulated_cuda
