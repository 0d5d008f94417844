#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace penstock::tools {

/// A file that the user named by an option or a key; an empty path is none.
struct NamedFile {
  const char* option = "";
  std::string path = {};
};

/// For before the work: ConfigError for a file that can't be `written` at the end, and for one that
/// another option names as well, to be written or, if it is there, to be `read`.
void check_outputs(std::initializer_list<NamedFile> written,
                   const std::vector<NamedFile>& read = {});

/// Writes `text` to a file that the user named, whole or not at all. ConfigError if it can't.
void write_output(const std::string& path, const std::string& text);

}  // namespace penstock::tools
