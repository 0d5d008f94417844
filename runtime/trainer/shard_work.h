#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// The arguments with which a rank writes its shard of a checkpoint.
struct ShardWork {
  std::filesystem::path folder;
  std::string shard;  // see write_shard()
  std::vector<CheckpointPiece> pieces = {};
  TensorBytes bytes = host_bytes;
  /// Waits between attempts. After the last one, the shard is given up.
  std::vector<std::chrono::milliseconds> pauses = {};
};

/// Writes the shard to the disk and reads it back. Failures are logged and retried. If the last
/// attempt fails too, throws its exception; CheckpointError if `stop` is requested.
[[nodiscard]] ShardIndex write_and_read_back(const ShardWork& work, const std::stop_token& stop);

}  // namespace penstock::runtime
