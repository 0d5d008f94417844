#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/collectives.h"
#include "layers/backend.h"
#include "layers/ops/norms.h"

namespace penstock::runtime {

// A rank keeps its parameters in arenas. This file describes those that replicas share, and the
// blocks that a rank updates.

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

class ParameterStore;

/// Consecutive pieces of ParameterStore::owned() that share a factor of the learning rate.
struct RatedBlocks {
  layers::ArenaBlocks blocks;
  double rate = 1;
};

/// The positions, in a rank's arenas, of the norm blocks that the rank updates. The table is built
/// once, so that a single operation can process a whole arena. The store must be complete.
class ArenaTable {
 public:
  ArenaTable() = default;
  ArenaTable(layers::Backend& backend, layers::Stream& stream, const ParameterStore& store);

  /// Returns the blocks of all pieces of ParameterStore::owned(), in their order.
  layers::ArenaBlocks all() const { return part(0, starts_.size() - 1); }
  /// Returns the same blocks, split where the learning-rate factor changes. If all factors are
  /// equal, there is one part.
  std::vector<RatedBlocks> by_rate() const;
  /// Returns the blocks of the piece with this index in ParameterStore::owned().
  layers::ArenaBlocks piece(std::size_t index) const { return part(index, index + 1); }

 private:
  layers::ArenaBlocks part(std::size_t begin, std::size_t end) const;

  layers::Buffer memory_;                   // the table, in the backend's memory
  std::vector<std::int64_t> starts_ = {0};  // first block of each piece, then the number of blocks
  std::vector<double> rates_;               // learning-rate factor of each piece
};

}  // namespace penstock::runtime
