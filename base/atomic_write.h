#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock {

/// Replaces a file atomically, also through links; a device or a pipe is written directly. Several
/// processes may write the same file. Returns true on success. A process that is killed may leave
/// "<name>.<pid>.partial".
[[nodiscard]] bool atomic_write(const std::filesystem::path& file, std::string_view text);

/// Returns why atomic_write can't write the file and what to do, or "": "there is no folder plans:
/// make it, or name another file". Call it before the work whose result the file will hold; it
/// changes neither the file nor its neighbours. A read-only file counts as one that can't be
/// written.
[[nodiscard]] std::string why_unwritable(const std::filesystem::path& file);

}  // namespace penstock
