#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Parts of an imported model that are copied from checkpoint to checkpoint: its small files, and
/// tensors that are not used in computations. This holds them in memory.
struct PassthroughParts {
  struct File {
    std::string file;  // path within the checkpoint's folder
    std::string bytes;
  };
  struct Numbers {
    std::string name;
    layers::DType dtype = layers::DType::f32;
    layers::Shape shape;
    std::vector<std::byte> bytes;
  };
  std::vector<File> files;
  std::vector<Numbers> tensors;
};

/// Reads the kept parts of a checkpoint. CheckpointError if they cannot be read.
[[nodiscard]] PassthroughParts read_kept(const Checkpoint& checkpoint);

/// Writes the parts into the folder of a checkpoint that is being written, and adds them to the
/// manifest. The tensors become a shard "kept.safetensors". CheckpointError or FileError on
/// failure.
void write_kept(const std::filesystem::path& folder, const PassthroughParts& kept,
                Manifest& manifest);

}  // namespace penstock::runtime
