#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace penstock::runtime {

// Disk space for a run's checkpoints. While the newest one is written, the `keep` ones before it
// also exist. The best one comes in addition if it is older than those.

/// Disk space that a run needs in its output folder.
struct DiskSpace {
  std::uint64_t bytes = 0;  // upper limit for one checkpoint
  int keep = 1;             // trainer.keep
};

/// Throws CheckpointError if the file system lacks space for `keep` + 1 checkpoints. Stored ones
/// count as written. The error says how many bytes are missing, and which trainer.keep would fit.
void require_disk_space(const std::filesystem::path& output, const DiskSpace& room);

/// Frees space for a save: removes the oldest checkpoint that is neither the best nor mislabelled.
/// It does so only if a newer one exists of which every byte has been verified. Returns the removed
/// folder, or nothing if no checkpoint may be removed. CheckpointError if the removal fails.
[[nodiscard]] std::optional<std::filesystem::path> make_room(const std::filesystem::path& output);

}  // namespace penstock::runtime
