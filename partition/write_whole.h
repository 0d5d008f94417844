#pragma once

#include <filesystem>
#include <string_view>

namespace penstock {

/// A file is replaced as a whole or not at all; a device or a pipe is written as it is. Whether
/// that was done.
bool write_whole(const std::filesystem::path& file, std::string_view text);

}  // namespace penstock
