#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// The best checkpoint so far: a reference, not a copy, in the file BEST of an output folder.
struct BestCheckpoint {
  std::int64_t step = 0;
  std::string metric;
  double value = 0;
};

void mark_best(const std::filesystem::path& output, const BestCheckpoint& best);

/// Nothing if none was marked. CheckpointError if the mark is damaged.
std::optional<BestCheckpoint> best_checkpoint(const std::filesystem::path& output);

/// For a run that goes on from `saved`: marks the best that it knows, since the run before may have
/// died between a save and its mark, or been ahead of `saved`. False if that checkpoint is gone, or
/// `saved` knows none; then a mark on a checkpoint that is gone is removed.
[[nodiscard]] bool restore_best(const std::filesystem::path& output, const TrainingState& saved);

}  // namespace penstock::runtime
