#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/shard.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kTokenizerFile = "tokenizer.model";  // the bytes of text.model

/// What a checkpoint holds, written last: its existence makes the checkpoint.
struct Manifest {
  TrainingState state;
  std::vector<ShardIndex> shards;
  bool operator==(const Manifest&) const = default;
};

/// JSON whose first value is the XXH3-128 of the whole text, taken with zeros in its own place.
/// CheckpointError if a number is not finite or a text is not UTF-8.
[[nodiscard]] std::string to_text(const Manifest& manifest);

/// Takes exactly what to_text makes. CheckpointError if a single bit differs, or if the text is of
/// another version of the format.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

}  // namespace penstock::runtime
