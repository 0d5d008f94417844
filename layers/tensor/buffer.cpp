#include "layers/tensor/buffer.h"

#include <new>

#include "layers/tensor/tensor.h"

namespace penstock {

Buffer host_buffer(std::size_t bytes) {
  constexpr std::align_val_t alignment{kAlignment};
  void* data = ::operator new(aligned(bytes == 0 ? 1 : bytes), alignment);
  return Buffer(data, bytes, [alignment](void* p) { ::operator delete(p, alignment); });
}

}  // namespace penstock
