#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/data/audio/audio_file.h"
#include "runtime/data/manifest/tar_member.h"

namespace penstock::runtime {

/// A file in a tar, as its header describes it.
struct TarEntry {
  std::string name;                   // without a leading "./"
  std::int64_t first = 0, bytes = 0;  // range of the tar's bytes
  bool link = false;                  // a hard or symbolic link, which has no bytes
};

/// Passes the files and links of a tar to `use`, in order; skips folders and devices. Reads headers
/// alone, in the formats ustar, GNU and pax, including long names and sizes above 8 GiB. Throws
/// DataError that names the tar and the place of the problem. A tar is refused if it is empty,
/// compressed, damaged, truncated, not a tar, or holds a sparse file. It is also refused if it
/// continues after its end, as tars joined by cat do.
void for_each_entry(const FileRange& tar, const std::function<void(const TarEntry&)>& use);

/// Returns true if the header before the member's bytes still describes this member.
[[nodiscard]] bool holds(const FileRange& tar, const TarMember& member);

}  // namespace penstock::runtime
