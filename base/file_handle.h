#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace penstock {

/// The operating system refused access to a file. This says nothing about the file's bytes, unless
/// it is missing.
class FileError : public Error {
 public:
  FileError(std::filesystem::path path, const std::string& message, std::errc code)
      : Error(message), path_(std::move(path)), code_(code) {}
  const std::filesystem::path& path() const { return path_; }
  std::error_code code() const { return std::make_error_code(code_); }
  /// Returns true if no file of this name is there, or if it is not a regular file.
  bool missing() const { return code_ == std::errc::no_such_file_or_directory; }

 private:
  std::filesystem::path path_;
  std::errc code_;
};

/// A POSIX file descriptor, closed with the object.
class [[nodiscard]] FileHandle {
 public:
  /// Opens the file as open(2) does, with O_CLOEXEC. FileError with the path if that fails.
  FileHandle(std::filesystem::path path, int flags, int mode = 0644);
  FileHandle(FileHandle&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  ~FileHandle();

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

  /// Writes from the front of `bytes`, and shortens `bytes` by what was written, also if the rest
  /// fails. FileError.
  void write(std::span<const std::byte>& bytes) const;

  /// Closes the file now, which reports an error of close(2). FileError.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Raises FileError "<path>: <what>: <text of errno>".
[[noreturn]] void raise_errno(const std::filesystem::path& path, const std::string& what);

/// Returns the bytes of a file. It uses read(2), since a stream's iterator raises an error that
/// names no file. FileError if the file can't be opened or read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace penstock
