#include "tests/support/emulated_cuda/device/shared.h"

#include "tests/support/emulated_cuda/grid.h"
#include "tests/support/emulated_cuda/watch.h"

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
