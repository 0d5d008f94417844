#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Returns the text of a file in a Hugging Face folder. Throws FileError if it is missing or can't
/// be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file);

/// True if a file or folder of that name exists. Throws CheckpointError if that can't be
/// determined.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

}  // namespace penstock::runtime
