#pragma once

#include <vector>

#include "layers/backend.h"
#include "layers/ops/norms.h"

namespace penstock::runtime {

class ParameterStore;

/// Consecutive pieces of ParameterStore::owned() that share a factor of the learning rate.
struct RatedBlocks {
  layers::ArenaBlocks blocks;
  double rate = 1;
};

/// Where the norm blocks of what a rank updates lie in its arenas: made once, and then one
/// operation goes over a whole arena. The store must be complete.
class ArenaTable {
 public:
  ArenaTable() = default;
  ArenaTable(layers::Backend& backend, layers::Stream& stream, const ParameterStore& store);

  /// Of all of ParameterStore::owned(), in their order.
  layers::ArenaBlocks all() const { return part(0, starts_.size() - 1); }
  /// The same, a part for each factor: one alone where all factors are equal.
  std::vector<RatedBlocks> by_rate() const;
  /// Of the piece with this index there.
  layers::ArenaBlocks piece(std::size_t index) const { return part(index, index + 1); }

 private:
  layers::ArenaBlocks part(std::size_t begin, std::size_t end) const;

  layers::Buffer memory_;                   // of the backend
  std::vector<std::int64_t> starts_ = {0};  // of each piece's blocks, and their number
  std::vector<double> rates_;               // of each piece
};

}  // namespace penstock::runtime
