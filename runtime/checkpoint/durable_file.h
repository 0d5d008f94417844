#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "runtime/checkpoint/file_handle.h"

namespace penstock {

/// A file that appears under its name whole and safely on the disk, or not at all. Until commit()
/// it is written as "<name>.partial", which is removed with the object. Every failed call is a
/// CheckpointError that names the file.
class DurableFile {
 public:
  explicit DurableFile(std::filesystem::path path);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Flushes to the disk, renames, and flushes the folder.
  void commit();

 private:
  std::filesystem::path path_, partial_;
  FileHandle file_;
};

/// A whole small file at once.
void write_durably(const std::filesystem::path& path, std::string_view text);

/// Flushes a folder's entries to the disk. CheckpointError.
void sync_folder(const std::filesystem::path& folder);

/// Renames folder `from` to `to`, whose earlier holder, if any, ends up at `from` and is
/// then removed; flushes the parent. There is no moment without a `to` where the file system can
/// exchange names. CheckpointError.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a folder so that a crash leaves it whole or under "<name>.discarded". CheckpointError.
void discard_folder(const std::filesystem::path& folder);

}  // namespace penstock
