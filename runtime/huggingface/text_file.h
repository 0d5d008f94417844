#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// A whole file of a folder of Hugging Face's. FileError if it is missing or can't be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file);

}  // namespace penstock::runtime
