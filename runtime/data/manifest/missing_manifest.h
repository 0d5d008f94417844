#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Returns true if a file or folder is at this path; false if the system does not let us look.
[[nodiscard]] bool exists_at(const std::filesystem::path& path);

/// Describes why there is no manifest of this name and what is likely meant: "no such file or
/// folder; did you mean train-clean-100?".
[[nodiscard]] std::string describe_missing_manifest(const std::filesystem::path& manifest);

/// Describes why there is no recording at this path, "no such file", and what is known: its folder
/// is missing, it is a link to nothing, or it has another extension. "can't be read: …" if the
/// system does not let us look.
[[nodiscard]] std::string describe_missing_recording(const std::filesystem::path& recording);

}  // namespace penstock::runtime
