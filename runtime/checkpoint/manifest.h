#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/shard.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kTokenizerFile = "tokenizer.model";  // the bytes of text.model

/// Begins the names of tensors that an optimizer keeps.
inline constexpr const char* kSlotTensors = "optimizer.";

/// Begins the names of tensors that a checkpoint only keeps: they came with an imported model, and
/// nothing computes with them.
inline constexpr const char* kKeptTensors = "huggingface/";

/// A file that a checkpoint keeps besides its shards: what came with an imported model.
struct KeptFile {
  std::string file;  // within the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string hash;  // XXH3-128
  bool operator==(const KeptFile&) const = default;
};

/// What a checkpoint holds, written last: its existence makes the checkpoint.
struct Manifest {
  TrainingState state;
  std::vector<ShardIndex> shards;
  std::vector<KeptFile> files = {};
  bool operator==(const Manifest&) const = default;
};

/// JSON whose first value is the XXH3-128 of the whole text, taken with zeros in its own place.
/// CheckpointError if a number is not finite or a text is not UTF-8.
[[nodiscard]] std::string to_text(const Manifest& manifest);

/// Takes exactly what to_text makes. CheckpointError if a single bit differs, if the text is of
/// another version of the format, or if it names a file outside the checkpoint's folder.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

}  // namespace penstock::runtime
