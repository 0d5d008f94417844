#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "configs/config.h"
#include "layers/models/families.h"
#include "layers/tensor/dtype.h"

namespace penstock::runtime {

/// How a folder is written.
struct ExportOptions {
  layers::DType dtype = layers::DType::f32;   // or f16, bf16
  std::uint64_t shard_bytes = 5'000'000'000;  // of a file, unless one tensor has more
};

/// What an export wrote.
struct ExportReport {
  std::string architecture;
  std::int64_t parameters = 0;  // and statistics of norms
  int files = 0;                // of weights
};

/// Makes a folder that transformers loads of a checkpoint, or of an output folder's newest one. The
/// files that came with an imported model are given back, with the blank where they have it; for
/// others they are made of the alphabet. Memory does not grow with the model. ConfigError if
/// transformers has no such model, CheckpointError as open_checkpoint(); then there is no `folder`.
ExportReport export_model(const std::filesystem::path& checkpoint,
                          const std::filesystem::path& folder, const ExportOptions& options = {});

}  // namespace penstock::runtime
