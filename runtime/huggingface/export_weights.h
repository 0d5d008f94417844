#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/huggingface/export.h"

namespace penstock::runtime {

struct WeightsReport {
  std::int64_t parameters = 0;  // includes statistics of norms
  int files = 0;                // number of weight files
};

/// Writes a folder with the weights alone of a checkpoint, or of an output folder's newest one. It
/// has no optimizer state, uses one numeric format, and its files have at most options.shard_bytes
/// unless one tensor exceeds that. The folder is a checkpoint itself: runs can start from it and it
/// can be evaluated, but no run resumes from it. Memory does not grow with the model. Throws
/// CheckpointError like open_checkpoint(), or if a number is not finite or too large for the
/// format. After an error there is no `folder`.
WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder,
                             const ExportOptions& options = {});

}  // namespace penstock::runtime
