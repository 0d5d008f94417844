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
  /// Name or folder of the base in an adapter_config.json; empty: the one that an import found.
  std::string base = {};
};

/// Describes what an export wrote.
struct ExportReport {
  std::string architecture;
  std::int64_t parameters = 0;  // includes statistics of norms
  int files = 0;                // number of weight files
  int merged = 0;               // adapters that were added to the weights
};

/// Writes a folder that transformers loads, from a checkpoint or from an output folder's newest
/// one. If the model was imported, the imported files are written again, and the blank keeps its
/// row. Otherwise the files are derived from the alphabet. Adapters (LoRA) are added to their
/// weights. Memory does not grow with the model. Throws ConfigError if transformers has no such
/// model, and CheckpointError like open_checkpoint(). After an error there is no `folder`.
ExportReport export_model(const std::filesystem::path& checkpoint,
                          const std::filesystem::path& folder, const ExportOptions& options = {});

struct WeightsReport {
  std::int64_t parameters = 0;  // includes statistics of norms
  int files = 0;                // number of weight files
  int merged = 0;               // adapters that were added to the weights
};

/// Writes a folder with the weights alone of a checkpoint, or of an output folder's newest one. It
/// has no optimizer state, uses one numeric format, and its files have at most options.shard_bytes
/// unless one tensor exceeds that. The folder is a checkpoint itself: runs can start from it and it
/// can be evaluated, but no run resumes from it. Adapters (LoRA) are added to their weights, and
/// the recipe has no section [lora]. Memory does not grow with the model. Throws CheckpointError
/// like open_checkpoint(), or if a number is not finite or too large for the format. After an error
/// there is no `folder`.
WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder,
                             const ExportOptions& options = {});

/// Describes an exported adapter.
struct AdapterReport {
  std::string architecture;     // of the base
  std::int64_t parameters = 0;  // numbers in the file
  int adapted = 0;              // modules of transformers with an adapter
  int saved = 0;                // modules that are stored as a whole
  std::int64_t rank = 0;        // the largest of a module
};

/// Writes the adapters (LoRA) of a checkpoint as PEFT saves them: adapter_config.json and
/// adapter_model.safetensors, in one file whatever its size. q, k and v get the A of penstock's one
/// layer and their rows of its B. Columns of B that are 0 are left out, with the rows of A that
/// they multiply, unless all are 0. Modules whose parameters lora.train names are stored as a
/// whole, and so are norms whose running statistics a training has changed. A tokenizer is written
/// besides if the labels are not those of an imported model. Throws ConfigError if the checkpoint
/// has no adapters, or if PEFT has no form for what was trained, and else throws like
/// export_model().
AdapterReport export_adapter(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder,
                             const ExportOptions& options = {});

}  // namespace penstock::runtime
