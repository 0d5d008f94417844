#include "tests/measure/large_checkpoint/sparse_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "tests/measure/large_checkpoint/zero_bytes.h"

namespace penstock::test {
namespace {

/// Small pages, each there once it is written to.
layers::Buffer sparse_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  void* map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  ::madvise(map, bytes, MADV_NOHUGEPAGE);
  return {map, bytes, [bytes](void* data) { ::munmap(data, bytes); }};
}

void copy_sparsely(void* target, const void* source, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kPage - reinterpret_cast<std::uintptr_t>(to) % kPage);
    if (!is_zero({from, part}) || !is_zero({to, part})) std::memcpy(to, from, part);
    to += part;
    from += part;
    bytes -= part;
  }
}

}  // namespace

layers::Buffer SparseBackend::allocate(std::size_t bytes) {
  allocated_ += bytes;
  return sparse_memory(bytes);
}

layers::Buffer SparseBackend::allocate_host(std::size_t bytes) { return sparse_memory(bytes); }

/// Memory of whole pages, as arenas begin with one.
void SparseBackend::zero(layers::Stream&, void* device, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t pages = bytes / kPage * kPage;
  if (pages > 0) ::madvise(device, pages, MADV_DONTNEED);
  std::memset(static_cast<std::byte*>(device) + pages, 0, bytes - pages);
}

void SparseBackend::copy_in(layers::Stream&, void* device, const void* host, std::size_t bytes) {
  if (!forgets_) copy_sparsely(device, host, bytes);
}

void SparseBackend::copy(layers::Stream&, void* to, const void* from, std::size_t bytes) {
  copy_sparsely(to, from, bytes);
}

void SparseBackend::copy_out_async(layers::Stream&, void* host, const void* device,
                                   std::size_t bytes) {
  copy_sparsely(host, device, bytes);
}

}  // namespace penstock::test
