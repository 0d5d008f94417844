#pragma once

#include <initializer_list>
#include <string>
#include <vector>

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

}  // namespace penstock::tools
