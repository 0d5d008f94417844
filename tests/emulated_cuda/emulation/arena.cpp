#include "tests/emulated_cuda/emulation/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

// Addresses cost nothing until they are used, and are used once: they do for all tests in several
// orders.
constexpr std::size_t kReserved = std::size_t{256} << 30, kGap = std::size_t{64} << 10,
                      kPage = 4096;
// Allocations begin after a multiple of 4 GiB: half an address that compilers left between
// members of a struct is none of theirs, beside a number that counts something.
constexpr std::size_t kFirst = std::size_t{0x9000} << 16, kHalf = std::size_t{1} << 32;
constexpr std::size_t kPiece = std::size_t{2} << 20;
constexpr int kUnused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::size_t pages_of(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// A file of kPiece bytes 0xff: NaN in every floating-point format, -1 in integers. Mapped
/// privately, it fills memory without touching it.
int file_of_nans() {
  static const int file = [] {
    const int made = memfd_create("NaN", 0);
    const std::vector<std::byte> piece(kPiece, std::byte{0xff});
    if (made < 0 || write(made, piece.data(), kPiece) != static_cast<ssize_t>(kPiece))
      fail("no memory for a file of NaN");
    return made;
  }();
  return file;
}

void fill_with_nans(std::byte* begin, std::byte* end) {
  for (; begin < end; begin += kPiece) {
    const std::size_t bytes = std::min(kPiece, static_cast<std::size_t>(end - begin));
    if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file_of_nans(), 0) ==
        MAP_FAILED)
      fail("no memory for ", bytes, " bytes");
  }
}

}  // namespace

Arena::Arena(Of of, std::string name) : of_(of), name_(std::move(name)) {
  void* memory = mmap(nullptr, kReserved, PROT_NONE, kUnused, -1, 0);
  if (memory == MAP_FAILED) fail("no addresses for ", name_);
  begin_ = static_cast<std::byte*>(memory);
  end_ = begin_ + kReserved;
  used_ = begin_ + (kHalf - reinterpret_cast<std::size_t>(begin_) % kHalf) + kFirst;
}

Arena::~Arena() { munmap(begin_, kReserved); }

void* Arena::allocate(std::size_t bytes) {
  std::byte* const place = used_ + kGap;
  std::byte* const next = place + pages_of(bytes);
  if (next + kGap > end_) fail("no addresses left for ", name_, ": a test allocates too much");
  fill_with_nans(place, next);
  watch().forbid(used_, kGap);
  watch().forbid(place + bytes, static_cast<std::size_t>(next - place) - bytes + kGap);
  used_ = next;
  allocations_[place] = bytes;
  if (!open_) protect(place, bytes, false);
  bytes_ += bytes;
  watch().memory_begins(place, bytes, of_ == Of::host);
  return place;
}

bool Arena::release(void* place) {
  const auto found = allocations_.find(static_cast<std::byte*>(place));
  if (found == allocations_.end()) return false;
  const auto [begin, bytes] = *found;
  watch().memory_ends(begin);
  if (mmap(begin, pages_of(bytes), PROT_NONE, kUnused | MAP_FIXED, -1, 0) == MAP_FAILED)
    fail(bytes, " bytes of ", name_, " can't be taken back");
  bytes_ -= bytes;
  allocations_.erase(found);
  return true;
}

bool Arena::covers(const void* address) const { return address >= begin_ && address < end_; }

bool Arena::holds(const void* begin, std::size_t bytes) const {
  auto* const first = static_cast<std::byte*>(const_cast<void*>(begin));
  auto after = allocations_.upper_bound(first);
  if (after == allocations_.begin()) return false;
  const auto& [place, size] = *--after;
  return first + bytes <= place + size;
}

void Arena::set_open(bool open) {
  if (open == open_) return;
  for (const auto& [place, bytes] : allocations_) protect(place, bytes, open);
  open_ = open;
}

void Arena::protect(std::byte* begin, std::size_t bytes, bool open) const {
  if (mprotect(begin, pages_of(bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    fail("the rights of ", name_, " can't be changed");
}

}  // namespace emulated_cuda
