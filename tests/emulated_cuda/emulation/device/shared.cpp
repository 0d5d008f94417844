#include "tests/emulated_cuda/emulation/device/shared.h"

#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {

void* declared_shared(const void* key, std::size_t bytes) {
  const Unobserved unobserved;
  return running_block().shared.declared(key, bytes);
}

void* dynamic_shared() {
  const Unobserved unobserved;
  return running_block().shared.dynamic();
}

}  // namespace emulated_cuda
