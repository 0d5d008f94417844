#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

// An output folder keeps the newest `trainer.keep` checkpoints and the best one. While the newest
// one is written, the `keep` ones before it also exist. The best one comes in addition if it is
// older than those.

/// The best checkpoint so far. The file BEST in an output folder refers to it; it is not a copy.
struct BestCheckpoint {
  std::int64_t step = 0;
  std::string metric;
  double value = 0;
};

/// kBestFile is the name of the file that marks the best checkpoint of an output folder.
inline constexpr const char* kBestFile = "BEST";

void mark_best(const std::filesystem::path& output, const BestCheckpoint& best);

/// Parses the mark in `file`. CheckpointError if it is damaged.
[[nodiscard]] BestCheckpoint parse_best(const std::filesystem::path& file, std::string_view text);

/// Returns nothing if no checkpoint is marked. CheckpointError if the mark is damaged.
std::optional<BestCheckpoint> best_checkpoint(const std::filesystem::path& output);

/// Marks the best checkpoint that `saved`, the state of a resumed run, knows of. The mark may be
/// older or newer: the earlier run may have died between a save and its mark, or been ahead of
/// `saved`. Returns false if that checkpoint is gone or `saved` knows of none. A mark on a missing
/// checkpoint is then removed.
[[nodiscard]] bool restore_best(const std::filesystem::path& output, const TrainingState& saved);

/// Removes all checkpoints except the best one and the newest `count` (at least 1). Mislabelled
/// ones, see output_folder.h, are neither counted nor removed. The newest was read back when it was
/// written; here only its manifest and the sizes of its files are checked. A crash leaves each
/// checkpoint whole or under a name that the next save removes. CheckpointError, with nothing
/// removed, if the newest is broken. Those that are `in_use`, by their step, stay too.
void keep_newest(
    const std::filesystem::path& output, int count,
    const std::function<bool(std::int64_t)>& in_use = [](std::int64_t) { return false; });

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
