#pragma once

#include <filesystem>
#include <string>

namespace penstock {

/// Returns the bytes of a file. It uses read(2), since a stream's iterator raises an error that
/// names no file. FileError if the file can't be opened or read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace penstock
