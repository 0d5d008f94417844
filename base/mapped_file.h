#pragma once

#include <cstddef>
#include <filesystem>
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
  /// Drops the memory of a part, which must begin at a page, until it is read again.
  void forget(std::string_view part) const;

 private:
  std::string_view bytes_;
};

/// Maps the whole file. FileError.
[[nodiscard]] MappedFile map_file(const std::filesystem::path& path);

}  // namespace penstock
