#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors_writer.h"

namespace penstock::runtime {

/// A block of a tensor's elements, in row-major order, that a rank adds to a checkpoint. Parameters
/// are named "conv1.weight", optimizer slots "optimizer.m/conv1.weight", state
/// "norm1.running_mean". Blocks of any partition read alike, because each states its place.
struct CheckpointPiece {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape full_shape;
  std::int64_t begin = 0, end = 0;  // elements of the full tensor
  const void* data = nullptr;       // of the block
};

/// Where a piece stands in its shard.
struct ShardPiece {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape full_shape;
  std::int64_t begin = 0, end = 0;             // elements of the full tensor
  std::uint64_t file_begin = 0, file_end = 0;  // bytes of the shard
  std::string hash;                            // XXH3-128 of those bytes
  bool operator==(const ShardPiece&) const = default;
};

/// What a rank tells rank 0 of its shard, and what the manifest says of it.
struct ShardIndex {
  std::string file;  // within the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string header_hash;  // XXH3-128 of all that stands before the data
  std::vector<ShardPiece> pieces;
  bool operator==(const ShardIndex&) const = default;
};

/// Text that ranks can send to each other; parse_shard_index gives the same index back.
[[nodiscard]] std::string to_text(const ShardIndex& index);
/// CheckpointError if `text` is no shard index.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text);

/// Writes "<folder>/<shard>.safetensors" safely to the disk; `shard` is unique among the ranks:
/// "stage-0", "stage-0-replica-1". A tensor held whole keeps its name and shape in the file; a part
/// is named "<name>[<begin>:<end>]" and flat. `bytes` brings blocks that lie elsewhere to the host.
/// CheckpointError on ranges outside the tensor and on any call that fails; the temporary file is
/// removed.
[[nodiscard]] ShardIndex write_shard(const std::filesystem::path& folder, const std::string& shard,
                                     std::span<const CheckpointPiece> pieces,
                                     const TensorBytes& bytes = host_bytes);

}  // namespace penstock::runtime
