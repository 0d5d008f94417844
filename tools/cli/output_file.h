#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.h"

namespace penstock::tools {

/// A file that the user named by an option or a key. An empty path means none.
struct NamedFile {
  const char* option = "";
  std::string path = {};
};

/// Raises ConfigError for a file that can't be `written`, and for one that another option also
/// names, to be written or, if it exists, to be `read`. Call it before the work.
void check_outputs(std::initializer_list<NamedFile> written,
                   const std::vector<NamedFile>& read = {});

/// Writes `text` atomically to a file that the user named. ConfigError if that fails.
void write_output(const std::string& path, const std::string& text);

/// Options with which a user asks for a file of results.
struct ResultFileOptions {
  const char* option = "";  // the option that names it
  std::string path = {};    // empty: no file
  bool resume = false;      // continues after the results of an earlier run
};

/// A file of JSON lines that grows while a command works. PATH.progress beside it records how many
/// bytes are valid, what the results depend on, and the state from which the command continues.
/// Later bytes, such as a torn line, are cut off.
class ResultFile {
 public:
  /// Opens the results. `made_by` names all on which they depend. ConfigError if the file exists
  /// and resume is not asked for, if it has no PATH.progress, if that has another `made_by`, or if
  /// the file is shorter than PATH.progress says.
  ResultFile(const ResultFileOptions& options, const std::string& made_by);

  /// The state that an earlier run passed to its last append(); "" if there was none.
  const std::string& state() const { return state_; }

  /// Appends whole lines; the first call creates the file. When it returns, the lines are on the
  /// disk. FileError, ConfigError.
  void append(std::string_view lines, const std::string& state);

 private:
  void go_on(const ResultFileOptions& options);
  void write_progress();

  std::string path_, made_by_, state_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<FileHandle> file_;
};

/// Raises ConfigError if the file can be neither started nor continued. Call it before the work.
void check_result_file(const ResultFileOptions& options);

/// Returns the path of the progress file of a file of results.
[[nodiscard]] std::string progress_file(const std::string& path);

}  // namespace penstock::tools
