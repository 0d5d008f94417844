#pragma once

#include <filesystem>

namespace penstock::runtime {

/// Renames folder `from` to `to` and flushes the parent folder. If `to` exists, the old folder is
/// replaced and then removed as far as possible. If the file system can exchange names, `to` exists
/// at every moment. CheckpointError on failure.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a folder. A crash leaves it whole or under the name "<name>.discarded". CheckpointError
/// on failure.
void discard_folder(const std::filesystem::path& folder);

}  // namespace penstock::runtime
