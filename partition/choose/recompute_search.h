#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "partition/choose/run_sizes.h"

namespace penstock::partition {

/// Layers of a chunk that are recomputed so that it fits into memory.
struct RecomputeChoice {
  ChosenLayers layers = {};  // counted from the chunk's first; empty: none
  double seconds = 0;        // of their recomputation
  bool exact = true;         // no other choice that fits takes less; else none that was tried
};

/// The cheapest layers to recompute. Exact: labels (seconds, bytes that stay, that are made
/// again and that lie in scratch) are carried from layer to layer over runs of chosen layers, and
/// dropped where another one takes no more seconds and, whatever follows, no more bytes
/// (multi-objective shortest path, Martins 1984), or where the seconds that it takes at least
/// (FreeingBound) are no less than those of a choice known. Of more labels at a layer than 1,000,
/// or 3,000,000 / layers², some are dropped besides, and the choice is not called exact. In a layer
/// sequence of more than 64 layers it is those layers that free most for a second: not exact
/// either.
class RecomputeSearch {
 public:
  /// `forward` has the seconds of each of the layer sequence's layers on a device of speed 1.
  /// `bytes` are of a training that recomputes nothing, and must outlive this.
  RecomputeSearch(const ChunkBytes& bytes, std::vector<double> forward)
      : bytes_(bytes), forward_(std::move(forward)) {}

  /// For layers [first, last) as that chunk, alone on its rank, within `limit` bytes on the replica
  /// that needs most. Nothing where no choice fits.
  const std::optional<RecomputeChoice>& within(int first, int last, int chunk, double limit);

  /// Whether no label was dropped so far for their number: else something cheaper may fit, or
  /// something where nothing was found.
  bool exact() const { return exact_; }

 private:
  std::optional<RecomputeChoice> search(int first, int last, int chunk, double limit);

  const ChunkBytes& bytes_;
  std::vector<double> forward_;
  bool exact_ = true;
  std::map<std::tuple<int, int, int, double>, std::optional<RecomputeChoice>> known_;
};

}  // namespace penstock::partition
