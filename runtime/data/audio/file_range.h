#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file_handle.h"

namespace penstock::runtime {

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

}  // namespace penstock::runtime
