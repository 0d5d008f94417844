#pragma once

#include <filesystem>
#include <string>

namespace penstock {

/// The bytes of a file, read with read(2): a stream's iterator raises an error that names no file.
/// FileError where it can't be opened or read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace penstock
