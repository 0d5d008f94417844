#include "tests/emulated_cuda/emulation/race/shadow.h"

namespace emulated_cuda::race {

void Shadow::add(const void* begin, std::size_t bytes, bool initialised) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t pages = (address + bytes + kPage - 1) / kPage - address / kPage;
  arrays_[address] = {address, bytes, initialised,
                      std::vector<std::unique_ptr<Page>>(std::max<std::size_t>(pages, 1))};
  recent_ = {};
}

void Shadow::remove(const void* begin) {
  arrays_.erase(reinterpret_cast<std::uintptr_t>(begin));
  recent_ = {};
}

void Shadow::unite(std::uintptr_t address, std::size_t bytes) {
  while (bytes > 0) {
    Page& page = *page_of(address);
    const std::size_t offset = address % kPage, here = std::min(bytes, kPage - offset);
    if (page.is_all(offset, here)) {
      page.cells = {page.cells[offset / page.granule]};
      page.granule = kPage;
    }
    address += here;
    bytes -= here;
  }
}

Shadow::Page* Shadow::find(std::uintptr_t address) {
  // No two arrays share a page: it belongs to the last that begins before the page's end.
  const std::uintptr_t page_begin = address / kPage * kPage;
  auto after = arrays_.upper_bound(page_begin + kPage - 1);
  if (after == arrays_.begin()) return nullptr;
  Array& array = (--after)->second;
  if (page_begin >= array.begin + array.bytes) return nullptr;
  std::unique_ptr<Page>& page = array.pages[address / kPage - array.begin / kPage];
  if (page == nullptr) {
    const std::uintptr_t first = std::max(array.begin, page_begin);
    const std::uintptr_t end = std::min(array.begin + array.bytes, page_begin + kPage);
    page = std::make_unique<Page>(Page{first - page_begin, end - page_begin, kPage, {1, Cell{}}});
    page->cells.front().initialised = array.initialised;
  }
  return page.get();
}

void Shadow::Page::split_for(std::size_t offset, std::size_t bytes) {
  if (is_all(offset, bytes)) return;
  const std::size_t finest = (offset | bytes) % 4 == 0 ? 4 : (offset | bytes) % 2 == 0 ? 2 : 1;
  if (granule <= finest) return;
  std::vector<Cell> finer(kPage / finest);
  for (std::size_t cell = 0; cell < finer.size(); ++cell)
    finer[cell] = cells[cell * finest / granule];
  cells = std::move(finer);
  granule = finest;
}

}  // namespace emulated_cuda::race
