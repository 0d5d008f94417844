#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors/safetensors_writer.h"

namespace penstock::runtime {

/// A block of a tensor's elements, in row-major order, that a rank contributes to a checkpoint.
/// Parameters are named "conv1.weight", optimizer slots "optimizer.m/conv1.weight", state
/// "norm1.running_mean". Each block states its range, so any partition can read it.
struct CheckpointPiece {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape full_shape;
  std::int64_t begin = 0, end = 0;  // elements of the full tensor
  const void* data = nullptr;       // the block's data
};

/// The position of a piece in its shard.
struct ShardPiece {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape full_shape;
  std::int64_t begin = 0, end = 0;             // elements of the full tensor
  std::uint64_t file_begin = 0, file_end = 0;  // bytes of the shard
  std::string hash;                            // XXH3-128 of those bytes
  bool operator==(const ShardPiece&) const = default;
};

/// Describes a shard: sent to rank 0 by the rank that wrote it, and stored in the manifest.
struct ShardIndex {
  std::string file;  // name within the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string header_hash;  // XXH3-128 of length field and header
  std::vector<ShardPiece> pieces;
  bool operator==(const ShardIndex&) const = default;
};

/// Converts an index to text that ranks can exchange. parse_shard_index() restores the same index.
[[nodiscard]] std::string to_text(const ShardIndex& index);
/// Throws CheckpointError if `text` is not a shard index.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text);

/// Writes "<folder>/<shard>.safetensors" and flushes it to the disk. `shard` is unique among the
/// ranks: "stage-0", "stage-0-replica-1". A whole tensor keeps its name and shape in the file. A
/// part of one is flat and named "<name>[<begin>:<end>]". `bytes` copies blocks to the host if they
/// lie elsewhere. CheckpointError if a range exceeds its tensor or a system call fails; the
/// temporary file is then removed.
[[nodiscard]] ShardIndex write_shard(const std::filesystem::path& folder, const std::string& shard,
                                     std::span<const CheckpointPiece> pieces,
                                     const TensorBytes& bytes = host_bytes);

/// Reads a shard in `folder` back from the disk and compares every byte with the hashes of the
/// index. The shard is first dropped from the page cache, as far as the system permits. Memory use
/// does not grow with the file. `between` is called between parts; an exception from it ends the
/// reading. CheckpointError that names the file and, if a tensor differs, the tensor. FileError if
/// the disk returns a read error.
void read_back(
    const std::filesystem::path& folder, const ShardIndex& shard,
    const std::function<void()>& between = [] {});

/// Checks that the pieces of every tensor agree on dtype and shape and cover it exactly once.
/// Throws CheckpointError, which names tensor, range and shards.
void check_coverage(const std::vector<ShardIndex>& shards);

}  // namespace penstock::runtime
