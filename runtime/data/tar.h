#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/data/file_range.h"
#include "runtime/data/tar_member.h"

namespace penstock::runtime {

/// A file in a tar, as its header has it.
struct TarEntry {
  std::string name;                   // without "./" in front
  std::int64_t first = 0, bytes = 0;  // of the tar's bytes
  bool link = false;                  // a link, hard or symbolic, which has no bytes
};

/// Gives the files and links of a tar in their order; folders and devices are passed over. Reads
/// headers alone, of ustar, GNU's and pax's kinds: long names, and sizes above 8 GiB. DataError
/// that names the tar and the place if it is empty, no tar, compressed, damaged, cut, holds a
/// sparse file, or goes on behind its end, as tars joined by cat do.
void for_each_entry(const FileRange& tar, const std::function<void(const TarEntry&)>& use);

/// Whether a tar holds that member where it was found, by the header in front of its bytes.
[[nodiscard]] bool holds(const FileRange& tar, const TarMember& member);

}  // namespace penstock::runtime
