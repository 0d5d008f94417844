#pragma once

#include <filesystem>
#include <functional>

#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Reads a shard that lies in `folder` from the disk, as far as the system lets go of what it has
/// of it in memory, and compares every byte with the hashes of the index. Takes no memory that
/// grows with the file. `between` is called between parts; what it raises ends the reading.
/// CheckpointError that names the file, and the tensor if one differs; FileError where the disk
/// refuses to give bytes.
void read_back(
    const std::filesystem::path& folder, const ShardIndex& shard,
    const std::function<void()>& between = [] {});

}  // namespace penstock::runtime
