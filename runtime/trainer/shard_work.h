#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// How a rank writes its part of a checkpoint.
struct ShardWork {
  std::filesystem::path folder;
  std::string shard;  // as in write_shard()
  std::vector<CheckpointPiece> pieces = {};
  TensorBytes bytes = host_bytes;
  /// Waits before it is tried again; behind the last one the shard is given up.
  std::vector<std::chrono::milliseconds> pauses = {};
};

/// Writes the shard to the disk and reads it back. What fails is said and tried again. Where that
/// is in vain, or `stop` is asked for, CheckpointError or what else the last try raised.
[[nodiscard]] ShardIndex write_and_read_back(const ShardWork& work, const std::stop_token& stop);

}  // namespace penstock::runtime
