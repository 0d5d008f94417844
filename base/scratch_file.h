#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/mapped_file.h"

namespace penstock {

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
