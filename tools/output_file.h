#pragma once

#include <initializer_list>
#include <string>

namespace penstock {

/// A file that the user named by an option, to be written at the end; an empty path is none.
struct OutputFile {
  const char* option = "";
  std::string path = {};
};

/// For before the work: ConfigError for a file that can't be written, and for two options that name
/// the same one.
void check_outputs(std::initializer_list<OutputFile> files);

/// Writes `text` to a file that the user named, whole or not at all. ConfigError if it can't.
void write_output(const std::string& path, const std::string& text);

}  // namespace penstock
