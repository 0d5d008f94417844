#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/settings.h"
#include "runtime/huggingface/streams.h"

namespace penstock::runtime {

/// A checkpoint as a model of transformers: everything that an export determines before it writes.
struct ExportSource {
  /// `opened` must outlive this object. Throws ConfigError if transformers has no such model, and
  /// CheckpointError if tensors are missing or have other shapes.
  explicit ExportSource(const Checkpoint& opened);

  /// True if the checkpoint was trained. Before training, the imported files are still correct;
  /// after it, settings may have changed.
  [[nodiscard]] bool trained() const { return checkpoint.state().step > 0; }

  /// Returns the tensors of the model in transformers, with weights of type `dtype`.
  [[nodiscard]] std::vector<StreamedTensor> tensors(layers::DType dtype) const;

  /// Returns a function that reads penstock's weights, to which adapters are added. It reads moving
  /// averages if `averages` is set and there are any.
  [[nodiscard]] ReadElements merged_reader(bool averages) const;

  /// Returns the number of the recipe's labels, blank included: no more than the head's rows.
  [[nodiscard]] int labels_of_text() const;

  /// Writes a tokenizer for the recipe's labels.
  void write_labels(const std::filesystem::path& folder) const;

  const Checkpoint& checkpoint;
  configs::Config config;                         // without adapters
  std::optional<std::filesystem::path> imported;  // config.json of an imported model
  Architecture architecture;
  std::int64_t rows = 0, blank = 0;  // the head's
  ModelTensors ours;                 // without those of adapters
  Pairing pairing;
  LowRankUpdates updates;          // adapters, by the names of penstock's weights
  bool gives_labels_back = false;  // the imported labels are still valid, one per row of the head
  Settings settings, features = {};
};

}  // namespace penstock::runtime
