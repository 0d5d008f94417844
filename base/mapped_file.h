#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace penstock {

/// The bytes of a file as it was when it was mapped: they come into memory as they are read, once
/// for all processes of a machine, and leave it where that is scarce.
class MappedFile {
 public:
  MappedFile() = default;
  /// `path` is for errors. FileError.
  MappedFile(int descriptor, const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }
  /// Gives up the memory of a part that begins where a page does, until it is read again.
  void forget(std::string_view part) const;

 private:
  std::string_view bytes_;
};

/// The whole file. FileError.
[[nodiscard]] MappedFile map_file(const std::filesystem::path& path);

}  // namespace penstock
