#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock {

/// Says if commit() waits for the disk. Files that must survive a power failure need it.
enum class Flush { to_disk, none };

/// A file that gets its name only when it is complete. Until commit() it is written as
/// "<name><suffix>", which the destructor removes. Every failed call raises FileError with the
/// file's name.
class [[nodiscard]] AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, const std::string& suffix = ".partial");
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Renames the file. With Flush::to_disk, its bytes are flushed before and its folder's entry
  /// after.
  void commit(Flush flush = Flush::to_disk);

 private:
  std::filesystem::path path_, partial_;
  FileHandle file_;
};

/// Writes a small file at once and flushes it to the disk. FileError.
void write_durably(const std::filesystem::path& path, std::string_view text);

/// Flushes a folder's entries to the disk. FileError.
void sync_folder(const std::filesystem::path& folder);

/// Replaces a file atomically, also through links; a device or a pipe is written directly. Several
/// processes may write the same file. Returns true on success. A process that is killed may leave
/// "<name>.<pid>.partial".
[[nodiscard]] bool atomic_write(const std::filesystem::path& file, std::string_view text);

/// Returns why atomic_write can't write the file and what to do, or "": "there is no folder plans:
/// make it, or name another file". Call it before the work whose result the file will hold; it
/// changes neither the file nor its neighbours. A read-only file counts as one that can't be
/// written.
[[nodiscard]] std::string why_unwritable(const std::filesystem::path& file);

}  // namespace penstock
