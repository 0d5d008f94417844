#include "tests/emulated_cuda/emulation/shared_memory.h"

#include <cstdint>
#include <cstring>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

// Between arrays, so that an index that is off by less touches none of them.
constexpr std::size_t kGap = 4096, kAlignment = 256;

}  // namespace

SharedMemory::SharedMemory() : memory_(2 * kMax + 64 * kGap) {
  watch().forbid(memory_.data(), memory_.size());
}

void SharedMemory::begin(std::size_t dynamic_bytes) {
  dynamic_ = dynamic_bytes == 0 ? nullptr : add(nullptr, dynamic_bytes);
}

void SharedMemory::end() {
  for (const Array& array : arrays_) {
    watch().memory_ends(array.begin);
    watch().forbid(array.begin, array.bytes);
  }
  arrays_.clear();
  used_ = declared_bytes_ = 0;
}

void* SharedMemory::declared(const void* key, std::size_t bytes) {
  for (const Array& array : arrays_)
    if (array.key == key) return array.begin;
  declared_bytes_ += bytes;
  if (declared_bytes_ > kMaxDeclared)
    fail("a kernel declares ", declared_bytes_, " bytes of shared memory; nvcc takes ",
         kMaxDeclared);
  return add(key, bytes);
}

void* SharedMemory::dynamic() const {
  if (dynamic_ == nullptr) fail("the kernel takes dynamic shared memory, the launch gives none");
  return dynamic_;
}

std::byte* SharedMemory::add(const void* key, std::size_t bytes) {
  const auto place = reinterpret_cast<std::uintptr_t>(memory_.data()) + used_ + kGap;
  std::byte* begin = memory_.data() + used_ + kGap + (kAlignment - place % kAlignment) % kAlignment;
  used_ = static_cast<std::size_t>(begin - memory_.data()) + bytes;
  if (used_ + kGap > memory_.size()) fail("too many arrays in shared memory");
  arrays_.push_back({key, begin, bytes});
  watch().allow(begin, bytes);
  std::memset(begin, 0xff, bytes);  // NaN in every floating-point format, -1 in integers
  watch().memory_begins(begin, bytes, false);
  return begin;
}

}  // namespace emulated_cuda
