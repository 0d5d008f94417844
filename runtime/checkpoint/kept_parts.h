#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// What came with an imported model and is handed on from checkpoint to checkpoint, in memory: its
/// small files, and the tensors that nothing computes with.
struct KeptParts {
  struct File {
    std::string file;  // within the checkpoint's folder
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

/// Those of a checkpoint. CheckpointError if they can't be read.
[[nodiscard]] KeptParts read_kept(const Checkpoint& checkpoint);

/// Writes them into the folder of a checkpoint that is being made, the tensors as a shard
/// "kept.safetensors" of their own, and adds to the manifest what it has to say of them.
/// CheckpointError, FileError.
void write_kept(const std::filesystem::path& folder, const KeptParts& kept, Manifest& manifest);

}  // namespace penstock::runtime
