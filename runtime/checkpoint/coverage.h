#pragma once

#include <vector>

#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Checks that the pieces of every tensor agree on dtype and shape and cover it exactly once.
/// Throws CheckpointError, which names tensor, range and shards.
void check_coverage(const std::vector<ShardIndex>& shards);

}  // namespace penstock::runtime
