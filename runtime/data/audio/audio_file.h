#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file_handle.h"

namespace penstock::runtime {

// These declarations treat sound files as bytes: a range of a file, and what its container
// promises.

/// A file that is open for reading, or a range of its bytes, counted from 0.
class FileRange {
 public:
  /// Throws DataError, which names the file, if it is missing, is a folder, or can't be opened.
  explicit FileRange(const std::filesystem::path& file);

  /// Restricts this range to at most `bytes` bytes from `first` on; the file's end cuts it.
  void narrow(std::int64_t first, std::int64_t bytes);

  const std::filesystem::path& path() const { return file_.path(); }
  std::int64_t size() const { return size_; }

  /// Reads bytes from `at` on. Returns their number, which is smaller at the end or if the disk
  /// fails.
  std::int64_t read(std::int64_t at, std::span<char> bytes) const noexcept;
  [[nodiscard]] std::string read(std::int64_t at, std::int64_t bytes) const;

 private:
  FileHandle file_;
  std::int64_t first_ = 0, size_ = 0;
};

/// Describes the data that a sound file's container promises but the file lacks; "" if nothing is
/// missing as far as the container can tell. libsndfile trims such lengths silently, so they are
/// checked here:
/// - RIFF (WAV): the data chunk ends beyond the file. A size of 0 or 2^32 - 1, which programs that
///   write to a pipe leave, promises nothing.
/// - NIST SPHERE: sample_count × channel_count × sample_n_bytes ends beyond the file, if it is not
///   compressed.
/// - Ogg: the last page is cut or not marked as the end of its stream.
/// FLAC and MP3 (with a Xing or Info header) promise samples, which a full decoding counts.
[[nodiscard]] std::string missing_end(const FileRange& file);

}  // namespace penstock::runtime
