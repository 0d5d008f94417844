#pragma once

#include <filesystem>
#include <string_view>

namespace penstock {

/// Replaces a file by `text` in one moment. False, with the old file as it was and nothing left
/// behind, if that can't be done.
bool write_whole_file(const std::filesystem::path& file, std::string_view text);

}  // namespace penstock
