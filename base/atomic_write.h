#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock {

/// Replaces a file, behind links too, in one moment or not at all; a device or a pipe is written as
/// it is. Several processes may write the same one. Whether that was done. A process that is killed
/// may leave "<name>.<pid>.partial".
[[nodiscard]] bool atomic_write(const std::filesystem::path& file, std::string_view text);

/// Why atomic_write can't write the file, and what to do, or nothing: "there is no folder plans:
/// make it, or name another file". For before the work whose result it is to hold; neither the file
/// nor anything beside it is changed. A file that is read-only counts as one that can't be written.
[[nodiscard]] std::string why_unwritable(const std::filesystem::path& file);

}  // namespace penstock
