#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/mapped_file.h"

namespace penstock {

/// A file without a name, which ends with the object and with what was mapped of it: room for what
/// is too large for memory. It lies in the folder for temporary files. Failed calls are FileError.
class ScratchFile {
 public:
  ScratchFile();

  void write(std::string_view bytes);
  std::uint64_t size() const { return size_; }
  /// All that was written so far.
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
