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

/// Lists a checkpoint's folder, an output folder's newest checkpoint, or one safetensors file of
/// any name. Every byte of a checkpoint is verified first, or, with Verified::read, its manifest
/// alone, which says all. CheckpointError names file and reason.
[[nodiscard]] Description describe(const std::filesystem::path& path,
                                   Verified verified = Verified::all);

}  // namespace penstock::runtime
