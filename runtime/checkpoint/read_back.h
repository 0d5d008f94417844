#pragma once

#include <filesystem>
#include <functional>

#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Reads a shard in `folder` back from the disk and compares every byte with the hashes of the
/// index. The shard is first dropped from the page cache, as far as the system permits. Memory use
/// does not grow with the file. `between` is called between parts; an exception from it ends the
/// reading. CheckpointError that names the file and, if a tensor differs, the tensor. FileError if
/// the disk returns a read error.
void read_back(
    const std::filesystem::path& folder, const ShardIndex& shard,
    const std::function<void()>& between = [] {});

}  // namespace penstock::runtime
