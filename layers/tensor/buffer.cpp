#include "layers/tensor/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <string>

#include "base/error.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {
namespace {

// Size of a huge page. Convolutions by FFT access tens of megabytes with long strides; with small
// pages they spend a sixth of their time on address translation.
constexpr std::size_t kHugePage = 2 << 20;

[[noreturn]] void fail(std::size_t bytes) {
  throw DeviceError(
      fmt::format("this machine has no {} MiB of memory for one buffer: make the model or its "
                  "micro-batches smaller, or cut it into more stages",
                  bytes >> 20));
}

/// Maps memory on a huge page's boundary. The system gets it back when it is freed; an allocator
/// would keep it, and the process would stay larger than its buffers.
Buffer huge_buffer(std::size_t bytes) {
  const std::size_t mapped = bytes + kHugePage;
  void* map = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) fail(bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(map);
  auto* data = static_cast<std::byte*>(map) + (kHugePage - begin % kHugePage) % kHugePage;
  // Only whole pages are advised, so no more memory becomes resident than was asked for. A kernel
  // without huge pages refuses the advice, which costs only speed.
  ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return Buffer(data, bytes, [map, mapped](void*) { ::munmap(map, mapped); });
}

}  // namespace

Buffer host_buffer(std::size_t bytes) {
  if (bytes >= kHugePage) return huge_buffer(bytes);
  constexpr std::align_val_t kBoundary{kAlignment};
  void* data = ::operator new(aligned(bytes == 0 ? 1 : bytes), kBoundary, std::nothrow);
  if (data == nullptr) fail(bytes);
  return Buffer(data, bytes, [](void* p) { ::operator delete(p, kBoundary); });
}

}  // namespace penstock::layers
