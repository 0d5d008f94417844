#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/huggingface/export.h"

namespace penstock::runtime {

struct WeightsReport {
  std::int64_t parameters = 0;  // and statistics of norms
  int files = 0;                // of weights
};

/// Makes a folder of the weights alone of a checkpoint, or of an output folder's newest one:
/// without the optimizer's state, all in one format, in files of at most options.shard_bytes unless
/// one tensor has more. The folder is a checkpoint itself, which runs start from and which is
/// evaluated; no run resumes from it. Memory does not grow with the model. CheckpointError as
/// open_checkpoint(), or if a number is not finite or too large for the format; then there is no
/// `folder`.
WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder,
                             const ExportOptions& options = {});

}  // namespace penstock::runtime
