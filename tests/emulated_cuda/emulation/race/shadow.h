#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulated_cuda::race {

/// Somebody's touch of memory.
struct Access {
  std::uint32_t operation = 0;   // 0: nobody's
  std::uint32_t block = 0;       // 0: no kernel's
  std::uint32_t code = 0;        // where in the program, 0 where no kernel's
  std::uint32_t syncs = 0;       // barriers that the block had passed,
  std::uint32_t warp_syncs = 0;  // and the warp
  std::uint16_t thread = 0;
  bool atomic = false;
};

/// Records the accesses to some bytes. A read that came before a later one, or before the write, is
/// forgotten; a few are kept of those that are in no order.
struct Cell {
  Access write;
  std::array<Access, 3> reads;
  bool initialised = false;
};

/// Cells of the arrays that kernels may use. A page of memory has one cell until somebody touches a
/// part of it, then one for every 4 bytes, or 2, or 1, as the touches need.
class Shadow {
 public:
  void add(const void* begin, std::size_t bytes, bool initialised);
  void remove(const void* begin);

  /// Calls visit(cell) for all cells of the bytes; false where they are not inside one array.
  template <class Visit>
  bool visit(std::uintptr_t address, std::size_t bytes, Visit visit);
  /// All of the bytes have just become the same: their pages need one cell again.
  void unite(std::uintptr_t address, std::size_t bytes);

 private:
  static constexpr std::size_t kPage = 4096;
  struct Page {
    std::size_t first, end;  // bytes of it that are the array's
    std::size_t granule;     // bytes for each cell
    std::vector<Cell> cells;
    bool is_all(std::size_t offset, std::size_t bytes) const {
      return offset == first && offset + bytes == end;
    }
    void split_for(std::size_t offset, std::size_t bytes);
  };
  struct Array {
    std::uintptr_t begin;
    std::size_t bytes;
    bool initialised;
    std::vector<std::unique_ptr<Page>> pages;
  };
  struct Recent {
    std::uintptr_t number = 0;
    Page* page = nullptr;
  };

  Page* page_of(std::uintptr_t address);
  Page* find(std::uintptr_t address);

  std::map<std::uintptr_t, Array> arrays_;
  std::array<Recent, 64> recent_{};
};

template <class Visit>
bool Shadow::visit(std::uintptr_t address, std::size_t bytes, Visit visit) {
  while (bytes > 0) {
    Page* const page = page_of(address);
    const std::size_t offset = address % kPage, here = std::min(bytes, kPage - offset);
    if (page == nullptr || offset < page->first || offset + here > page->end) return false;
    page->split_for(offset, here);
    const std::size_t last = (offset + here - 1) / page->granule;
    for (std::size_t cell = offset / page->granule; cell <= last; ++cell) visit(page->cells[cell]);
    address += here;
    bytes -= here;
  }
  return true;
}

inline Shadow::Page* Shadow::page_of(std::uintptr_t address) {
  const std::uintptr_t number = address / kPage;
  Recent& recent = recent_[number % recent_.size()];
  if (recent.page == nullptr || recent.number != number) recent = {number, find(address)};
  return recent.page;
}

}  // namespace emulated_cuda::race
