#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock {

/// Whether a finished file waits for the disk: what must survive a power failure does.
enum class Flush { to_disk, none };

/// A file that appears under its name whole, or not at all. Until commit() it is written as
/// "<name><suffix>", which is removed with the object. Every failed call is a FileError that names
/// the file.
class [[nodiscard]] AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, const std::string& suffix = ".partial");
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Renames it. With Flush::to_disk its bytes are flushed before, its folder's entry after.
  void commit(Flush flush = Flush::to_disk);

 private:
  std::filesystem::path path_, partial_;
  FileHandle file_;
};

/// A whole small file at once, safely on the disk. FileError.
void write_durably(const std::filesystem::path& path, std::string_view text);

/// Flushes a folder's entries to the disk. FileError.
void sync_folder(const std::filesystem::path& folder);

}  // namespace penstock
