#pragma once

#include <filesystem>

namespace penstock::runtime {

/// Renames folder `from` to `to`, whose earlier holder, if any, ends up at `from` and is
/// then removed as far as possible; flushes the parent. There is no moment without a `to` where the
/// file system can exchange names. CheckpointError.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a folder so that a crash leaves it whole or under "<name>.discarded". CheckpointError.
void discard_folder(const std::filesystem::path& folder);

}  // namespace penstock::runtime
