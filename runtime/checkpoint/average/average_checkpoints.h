#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

struct AverageReport {
  std::vector<AveragedCheckpoint> averaged;  // by step
  std::int64_t parameters = 0;               // includes statistics of norms
};

/// Writes a folder with the mean of the weights and running statistics of at least two checkpoints.
/// It has no optimizer state, and otherwise what the newest checkpoint has: state, tokenizer, kept
/// parts of an import. Like export_weights() it makes a checkpoint itself, from which runs can
/// start, but not resume. Memory does not grow with the model.
///
/// Throws CheckpointError if a checkpoint is damaged or named twice, if two of them differ in
/// their tensors or labels, or if a number is not finite. After an error there is no `folder`.
AverageReport average_checkpoints(const std::vector<std::filesystem::path>& checkpoints,
                                  const std::filesystem::path& folder);

}  // namespace penstock::runtime
