#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock {

/// A file is replaced as a whole or not at all; a device or a pipe is written as it is. Whether
/// that was done.
bool write_whole(const std::filesystem::path& file, std::string_view text);

/// Why write_whole can't write the file, and what to do, or nothing: "there is no folder plans:
/// make it, or name another file". For before the work whose result it is to hold; neither the file
/// nor anything beside it is changed. A file that is read-only counts as one that can't be written.
std::string why_unwritable(const std::filesystem::path& file);

}  // namespace penstock
