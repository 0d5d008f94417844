#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/all_gather.h"

namespace penstock::runtime {

/// Memory whose contents must be equal on all replicas of a stage, with the ranges that each
/// replica updates.
struct SharedArena {
  using Range = std::pair<std::size_t, std::size_t>;  // bytes [first, second)
  std::byte* data = nullptr;
  /// One list per replica. The lists are equally long; ranges may be empty.
  std::vector<std::vector<Range>> of_replicas;
};

/// Returns its ranges as parts of an arena of the same layout at `data`.
inline comm::RankParts parts_of(const SharedArena& arena, std::byte* data) {
  comm::RankParts parts(arena.of_replicas.size());
  for (std::size_t replica = 0; replica < parts.size(); ++replica)
    for (const auto& [begin, end] : arena.of_replicas[replica])
      parts[replica].emplace_back(data + begin, end - begin);
  return parts;
}

}  // namespace penstock::runtime
