#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock::runtime {

/// A file that grows while a run goes on. What a full disk refuses is kept in memory and written
/// with what comes next, so such a failure neither ends the run nor loses anything.
class AppendedFile {
 public:
  using Note = std::function<void(const std::string&)>;

  /// Opens the file with more `flags` of open(2), such as O_CREAT. `unit` says what it holds, such
  /// as "lines". `note` logs the first failure and the recovery; it may be empty. FileError.
  AppendedFile(const std::filesystem::path& file, int flags, std::string unit, Note note);

  void append(std::string_view bytes);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  FileHandle file_;
  std::string unit_;
  Note note_;
  std::string left_;  // what is not written yet
};

}  // namespace penstock::runtime
