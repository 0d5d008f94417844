#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "layers/models/families.h"
#include "layers/tensor/dtype.h"

namespace penstock::runtime {

/// Options of the written folder.
struct ExportOptions {
  layers::DType dtype = layers::DType::f32;  // f32, f16 or bf16
  /// Bound on a file's size, unless one tensor exceeds it.
  std::uint64_t shard_bytes = 5'000'000'000;
  bool averages = true;  // moving averages of the weights, if the checkpoint has them
};

/// Describes what an export wrote.
struct ExportReport {
  std::string architecture;
  std::int64_t parameters = 0;  // includes statistics of norms
  int files = 0;                // number of weight files
};

/// Writes a folder that transformers loads, from a checkpoint or from an output folder's newest
/// one. If the model was imported, the imported files are written again, and the blank keeps its
/// row. Otherwise the files are derived from the alphabet. Memory does not grow with the model.
/// Throws ConfigError if transformers has no such model, and CheckpointError like
/// open_checkpoint(). After an error there is no `folder`.
ExportReport export_model(const std::filesystem::path& checkpoint,
                          const std::filesystem::path& folder, const ExportOptions& options = {});

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
