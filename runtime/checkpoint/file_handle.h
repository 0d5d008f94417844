#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace penstock {

/// A POSIX file descriptor, closed with the object.
class FileHandle {
 public:
  /// As open(2) with O_CLOEXEC. CheckpointError naming the path if that fails.
  FileHandle(std::filesystem::path path, int flags, int mode = 0644);
  FileHandle(FileHandle&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  ~FileHandle();

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

  /// Closes now, so that an error of close(2) is heard. CheckpointError.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Raises CheckpointError "<path>: <what>: <text of errno>".
[[noreturn]] void raise_errno(const std::filesystem::path& path, const std::string& what);

}  // namespace penstock
