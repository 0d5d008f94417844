#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock::runtime {

// A supervisor starts a run again and again in the same output folder. Each start is an
// incarnation with a number of its own, which the file `.incarnation` holds. Ranks of an earlier
// incarnation may still live, for example behind a link that is down. They may not commit: the
// number in the file is no longer theirs.

/// Returns the number of the last incarnation; 0 if the folder has none. CheckpointError if the
/// file is damaged, FileError if it can't be read.
[[nodiscard]] std::int64_t last_incarnation(const std::filesystem::path& output);

/// Begins the next incarnation, durably, and returns its number. From then on no rank of an earlier
/// one can commit a checkpoint. The folder must exist. CheckpointError or FileError on failure.
[[nodiscard]] std::int64_t begin_incarnation(const std::filesystem::path& output);

/// Throws CheckpointError if a later incarnation than `own` has begun. Does nothing if `own` is 0,
/// in a run without a supervisor.
void require_incarnation(const std::filesystem::path& output, std::int64_t own);

}  // namespace penstock::runtime
