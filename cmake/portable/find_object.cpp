// _dl_find_object, by which libgcc finds the frames of what an exception passes, came with
// version 2.35 of the C library. This one asks as libgcc did before.

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

/// Fills `found` and returns 1 where a segment of the object holds the address.
int look_in(dl_phdr_info* object, std::size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* frames = nullptr;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_GNU_EH_FRAME) frames = &part;
    if (part.p_type != PT_LOAD || search.address < begin || search.address >= end) continue;
    inside = true;
    search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
    search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  }
  if (!inside || frames == nullptr) return 0;
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  *found = {};
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_in, &search) == 1 ? 0 : -1;
}
