#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace penstock {

/// The bytes of a file, mapped into memory. A later file of the same name does not change them.
/// Pages are loaded as they are read, once for all processes of a machine, and are dropped if
/// memory is scarce.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps the file of the descriptor. `path` is for errors. FileError.
  MappedFile(int descriptor, const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }
  std::span<const std::byte> raw() const { return std::as_bytes(std::span(bytes_)); }
  /// Drops the memory of the pages that hold a part, from its first to its last byte. The next
  /// access reads them from the file again.
  void forget(std::string_view part) const;

 private:
  std::string_view bytes_;
};

/// Maps the whole file. FileError, which is missing() for a folder or a pipe as well.
[[nodiscard]] MappedFile map_file(const std::filesystem::path& path);

/// A nameless file for data too large for memory, in the folder for temporary files. It is deleted
/// when the object and its mappings end. Failed calls raise FileError.
class ScratchFile {
 public:
  ScratchFile();

  void write(std::string_view bytes);
  std::uint64_t size() const { return size_; }
  /// Maps all that was written so far.
  [[nodiscard]] MappedFile map();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0;
};

}  // namespace penstock
