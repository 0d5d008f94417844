#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "configs/config.h"
#include "layers/models/families.h"
#include "layers/tensor/dtype.h"

namespace penstock::runtime {

/// Options of the written folder.
struct ExportOptions {
  layers::DType dtype = layers::DType::f32;  // f32, f16 or bf16
  /// Bound on a file's size, unless one tensor exceeds it.
  std::uint64_t shard_bytes = 5'000'000'000;
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

}  // namespace penstock::runtime
