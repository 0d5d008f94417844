#pragma once

#include <cstddef>

namespace emulated_cuda {

void* declared_shared(const void* key, std::size_t bytes);
void* dynamic_shared();

}  // namespace emulated_cuda

#define BLOCK_SHARED(T, name, dimensions)   \
  using name##_array = T dimensions;        \
  static const char name##_key = 0;         \
  auto& name = *static_cast<name##_array*>( \
      ::emulated_cuda::declared_shared(&name##_key, sizeof(name##_array)))
#define BLOCK_SHARED_DYNAMIC(T, name) \
  T* const name = static_cast<T*>(::emulated_cuda::dynamic_shared())
