#include "layers/tensor/buffer.h"

#include <sys/mman.h>

#include <new>
#include <string>

#include "layers/tensor/error.h"
#include "layers/tensor/tensor.h"

namespace penstock {
namespace {

// Convolutions by FFT go through tens of megabytes in long strides: with small pages they spend a
// sixth of their time on address translation.
constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

Buffer host_buffer(std::size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const std::align_val_t alignment{huge ? kHugePage : kAlignment};
  void* data = ::operator new(aligned(bytes == 0 ? 1 : bytes), alignment, std::nothrow);
  if (data == nullptr)
    throw DeviceError("this machine has no " + std::to_string(bytes >> 20) +
                      " MiB of memory for one buffer: make the model or its micro-batches smaller, "
                      "or cut it into more stages");
  // Whole pages only, so that no more becomes resident than was asked for. A kernel without huge
  // pages refuses, and loses nothing but speed.
  if (huge) ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return Buffer(data, bytes, [alignment](void* p) { ::operator delete(p, alignment); });
}

}  // namespace penstock
