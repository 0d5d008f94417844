#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace penstock::runtime {

/// A whole file, read only, mapped into memory for as long as the object lives.
class MappedFile {
 public:
  /// FileError if `path` is missing or can't be read, CheckpointError if it is no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Bytes [begin, end) are not needed for now: they no longer count as this process's memory, and
  /// are read again where they are touched again.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock::runtime
