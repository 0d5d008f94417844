#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock::runtime {

/// Removes all checkpoints but the newest `count` (at least 1) and the best. Whoever wrote the
/// newest has read it back by then; here its manifest is checked, and that every file has its size.
/// A crash leaves each whole or under a name that the next save clears away. CheckpointError, with
/// nothing removed, if the newest is broken.
void keep_newest(const std::filesystem::path& output, int count);

/// For a run that resumes from `step` because later checkpoints are broken: renames those to
/// "<name>.broken", so that they are no longer the newest. CheckpointError.
void set_aside_after(const std::filesystem::path& output, std::int64_t step);

}  // namespace penstock::runtime
