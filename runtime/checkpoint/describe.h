#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// A tensor, or the block of a tensor that one file holds.
struct TensorPlace {
  std::string name;
  std::string dtype;                 // the format's name: "F32", "BOOL", …
  std::vector<std::uint64_t> shape;  // shape of the whole tensor
  /// Range of elements. It is set if the tensor is split into several blocks.
  std::optional<std::int64_t> first, last;
  std::filesystem::path file;
  std::uint64_t begin = 0, end = 0;  // bytes within the file
};

struct Description {
  std::optional<TrainingState> state;  // set for a checkpoint
  std::vector<TensorPlace> tensors;    // sorted by name (checkpoint) or by position (file)
};

/// Describes a checkpoint from its manifest, without opening shards.
[[nodiscard]] Description describe(const Checkpoint& checkpoint);

/// Lists the tensors of a single safetensors file. Throws CheckpointError, which names file and
/// reason.
[[nodiscard]] Description describe_file(const std::filesystem::path& path);

}  // namespace penstock::runtime
