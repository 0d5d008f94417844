#pragma once

#include <filesystem>
#include <vector>

namespace penstock::runtime {

/// Throws DataError for a folder of no format. `files` are the files below it. The message says
/// what the folder has, and which name in it or above it is likely meant.
[[noreturn]] void refuse_folder(const std::filesystem::path& folder,
                                const std::vector<std::filesystem::path>& files);

}  // namespace penstock::runtime
