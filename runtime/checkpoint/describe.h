#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// A tensor, or the block of it that one file holds.
struct TensorPlace {
  std::string name;
  std::string dtype;                        // the format's name: "F32", "BOOL", …
  std::vector<std::uint64_t> shape;         // of the whole tensor
  std::optional<std::int64_t> first, last;  // elements of a tensor that lies in several blocks
  std::filesystem::path file;
  std::uint64_t begin = 0, end = 0;  // bytes of the file
};

struct Description {
  std::optional<TrainingState> state;  // of a checkpoint
  std::vector<TensorPlace> tensors;    // a checkpoint's by name, a file's by place
};

/// By its manifest, which says all: no shard is opened.
[[nodiscard]] Description describe(const Checkpoint& checkpoint);

/// Lists one safetensors file of any name. CheckpointError names file and reason.
[[nodiscard]] Description describe_file(const std::filesystem::path& path);

}  // namespace penstock::runtime
