#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock::runtime {

/// Verifies the newest checkpoint and only then removes all but the newest `count` (at least 1) and
/// the best. A crash leaves each whole or under a name that the next save clears away.
/// CheckpointError, with nothing removed, if the newest is broken.
void keep_newest(const std::filesystem::path& output, int count);

/// For a run that resumes from `step` because later checkpoints are broken: renames those to
/// "<name>.broken", so that they are no longer the newest. CheckpointError.
void set_aside_after(const std::filesystem::path& output, std::int64_t step);

}  // namespace penstock::runtime
