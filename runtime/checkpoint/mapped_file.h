#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace penstock {

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

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock
