#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// The best checkpoint so far. The file BEST in an output folder refers to it; it is not a copy.
struct BestCheckpoint {
  std::int64_t step = 0;
  std::string metric;
  double value = 0;
};

void mark_best(const std::filesystem::path& output, const BestCheckpoint& best);

/// Returns nothing if no checkpoint is marked. CheckpointError if the mark is damaged.
std::optional<BestCheckpoint> best_checkpoint(const std::filesystem::path& output);

/// Marks the best checkpoint that `saved`, the state of a resumed run, knows of. The mark may be
/// older or newer: the earlier run may have died between a save and its mark, or been ahead of
/// `saved`. Returns false if that checkpoint is gone or `saved` knows of none. A mark on a missing
/// checkpoint is then removed.
[[nodiscard]] bool restore_best(const std::filesystem::path& output, const TrainingState& saved);

}  // namespace penstock::runtime
