#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/shard.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kTokenizerFile = "tokenizer.model";  // holds the bytes of text.model

/// Prefix of the names of the optimizer's tensors.
inline constexpr const char* kSlotTensors = "optimizer.";

/// Prefix of the names of the moving averages of weights (trainer.ema), as "optimizer.ema/NAME".
inline constexpr const char* kAverageTensors = "optimizer.ema/";

/// Prefix of the names of tensors that are kept from an imported model and not used in
/// computations.
inline constexpr const char* kKeptTensors = "huggingface/";

/// A file kept from an imported model, beside the shards.
struct KeptFile {
  std::string file;  // path within the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string hash;  // XXH3-128
  bool operator==(const KeptFile&) const = default;
};

/// Describes the contents of a checkpoint. It is written last: a folder with a manifest is a
/// checkpoint.
struct Manifest {
  TrainingState state;
  std::vector<ShardIndex> shards;
  std::vector<KeptFile> files = {};
  bool operator==(const Manifest&) const = default;
};

/// Returns the manifest as JSON. Its first value is the XXH3-128 of the whole text, computed with
/// zeros in the hash's own place. CheckpointError if a number is not finite or a text is not UTF-8.
[[nodiscard]] std::string to_text(const Manifest& manifest);

/// Parses the exact output of to_text(). CheckpointError if a single bit differs, if the format's
/// version is another one, or if it names a file outside the checkpoint's folder.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

/// Reads the manifest in a checkpoint's folder. CheckpointError that names the file.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace penstock::runtime
