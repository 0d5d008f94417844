#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Returns true if a path stands for several, such as "manifest__OP_0..511_CL_.json" or
/// "{train,dev}/shard_{000..127}.tar".
[[nodiscard]] bool is_shard_pattern(std::string_view path);

/// Returns the paths that a pattern stands for, in the order of its numbers; a path that is none
/// stands for itself. Throws DataError if there are more than 100,000.
[[nodiscard]] std::vector<std::string> expand_shards(std::string_view pattern);

}  // namespace penstock::runtime
