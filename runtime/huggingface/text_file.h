#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// A whole file of a folder of Hugging Face's. FileError if it is missing or can't be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file);

/// Whether there is a file or folder of that name. CheckpointError if that can't be found out.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

}  // namespace penstock::runtime
