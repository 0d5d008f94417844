// Code that clang compiles with -fsanitize=thread calls these functions at every load and store.
// The sanitizer's own library is not linked.

#include <cstddef>
#include <cstring>

#include "tests/emulated_cuda/emulation/race/race_watch.h"

namespace {

using emulated_cuda::race::RaceWatch;

void tell(const void* address, std::size_t bytes, RaceWatch::Kind kind, const void* code) {
  if (!emulated_cuda::race::observing()) return;
  const emulated_cuda::Unobserved unobserved;
  emulated_cuda::race::race_watch().kernel_access(address, bytes, kind, code);
}

}  // namespace

#define CODE __builtin_return_address(0)
#define CALLBACKS(bytes)                                                                        \
  void __tsan_read##bytes(void* p) { tell(p, bytes, RaceWatch::Kind::read, CODE); }             \
  void __tsan_write##bytes(void* p) { tell(p, bytes, RaceWatch::Kind::write, CODE); }           \
  void __tsan_unaligned_read##bytes(void* p) { tell(p, bytes, RaceWatch::Kind::read, CODE); }   \
  void __tsan_unaligned_write##bytes(void* p) { tell(p, bytes, RaceWatch::Kind::write, CODE); } \
  void __tsan_read_write##bytes(void* p) {                                                      \
    tell(p, bytes, RaceWatch::Kind::read, CODE);                                                \
    tell(p, bytes, RaceWatch::Kind::write, CODE);                                               \
  }                                                                                             \
  void __tsan_unaligned_read_write##bytes(void* p) {                                            \
    tell(p, bytes, RaceWatch::Kind::read, CODE);                                                \
    tell(p, bytes, RaceWatch::Kind::write, CODE);                                               \
  }

extern "C" {
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)
// In the place of memcpy, memmove and memset, which clang calls for structs of more than 8 bytes.
void* emulated_cuda_memmove(void* to, const void* from, std::size_t bytes) {
  tell(from, bytes, RaceWatch::Kind::read, CODE);
  tell(to, bytes, RaceWatch::Kind::write, CODE);
  return std::memmove(to, from, bytes);
}
void* emulated_cuda_memcpy(void* to, const void* from, std::size_t bytes) {
  tell(from, bytes, RaceWatch::Kind::read, CODE);
  tell(to, bytes, RaceWatch::Kind::write, CODE);
  return std::memcpy(to, from, bytes);
}
void* emulated_cuda_memset(void* to, int value, std::size_t bytes) {
  tell(to, bytes, RaceWatch::Kind::write, CODE);
  return std::memset(to, value, bytes);
}
// The host's own, of std::shared_ptr.
int __tsan_atomic32_fetch_add(volatile int* p, int value, int) {
  return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}
int __tsan_atomic32_fetch_sub(volatile int* p, int value, int) {
  return __atomic_fetch_sub(p, value, __ATOMIC_ACQ_REL);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
