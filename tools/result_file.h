#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock::tools {

/// What a user asks of a file of results.
struct ResultFileOptions {
  const char* option = "";  // that names it
  std::string path = {};    // empty: there is none
  bool resume = false;      // goes on behind what an earlier run has written
};

/// A file of JSON lines that grows while a command works. Beside it, PATH.progress says how far it
/// reaches, of what, and what the command needs to go on there. What stands behind that, a torn
/// line say, is cut off.
class ResultFile {
 public:
  /// `made_by` names all that the results follow from. ConfigError if there is a file and resume is
  /// not asked for, if it has no PATH.progress, if that is of something else, or if the file is
  /// shorter than it says.
  ResultFile(const ResultFileOptions& options, const std::string& made_by);

  /// What the last append of an earlier run was given; "": there was none.
  const std::string& state() const { return state_; }

  /// Appends whole lines; the first call makes the file. When it returns, they are on the disk.
  /// FileError, ConfigError.
  void append(std::string_view lines, const std::string& state);

 private:
  void go_on(const ResultFileOptions& options);
  void write_progress();

  std::string path_, made_by_, state_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<FileHandle> file_;
};

/// ConfigError, before any work, if the file can't be begun or gone on with.
void check_result_file(const ResultFileOptions& options);

/// The file that stands beside a file of results.
[[nodiscard]] std::string progress_file(const std::string& path);

}  // namespace penstock::tools
