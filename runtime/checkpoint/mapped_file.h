#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace penstock::runtime {

/// A file that is mapped into memory as a whole, read only, for the lifetime of the object.
class MappedFile {
 public:
  /// FileError if `path` is missing or cannot be read. CheckpointError if it is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Releases the physical memory of bytes [begin, end). They stay readable: the next access reads
  /// them from the file again.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock::runtime
