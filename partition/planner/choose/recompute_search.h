#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "partition/planner/choose/run_sizes.h"

namespace penstock::partition {

/// The layers of a chunk that are recomputed so that it fits into memory.
struct RecomputeChoice {
  ChosenLayers layers = {};  // index 0 is the chunk's first layer; empty: none
  double seconds = 0;        // time of the recomputation
  bool exact = true;         // no other choice that fits takes less time
};

/// Finds the cheapest layers of a chunk to recompute so that it fits, by a multi-objective shortest
/// path (Martins 1984). A label (seconds, and bytes kept, recomputed and in scratch) stands for a
/// choice of the first layers. An arc leaves a layer out, or recomputes a run of layers. A label is
/// dropped if another one takes no more seconds and, whatever follows, no more bytes. It is also
/// dropped if its seconds plus the least seconds to free the rest (FreeingBound) reach those of a
/// known choice. The result is exact, with two exceptions:
/// - of more than 1,000 or 3,000,000 / layers² labels at a layer, some are dropped;
/// - in a sequence of more than 64 layers, a greedy choice takes the layers that free the most
///   bytes per second.
class RecomputeSearch {
 public:
  /// `forward` has the forward seconds of all layers of the sequence on a device of speed 1.
  /// `bytes` is of a training that recomputes nothing, and must outlive this object.
  RecomputeSearch(const ChunkBytes& bytes, std::vector<double> forward)
      : bytes_(bytes), forward_(std::move(forward)) {}

  /// Returns the cheapest choice for layers [first, last) as that chunk, alone on its rank, within
  /// `limit` bytes on the replica that needs most. Returns nothing if no choice fits. Cached.
  const std::optional<RecomputeChoice>& within(int first, int last, int chunk, double limit);

  /// True if all results so far are exact. If not, a cheaper choice may fit, also where none was
  /// found.
  bool exact() const { return exact_; }

 private:
  std::optional<RecomputeChoice> search(int first, int last, int chunk, double limit);

  const ChunkBytes& bytes_;
  std::vector<double> forward_;
  bool exact_ = true;
  std::map<std::tuple<int, int, int, double>, std::optional<RecomputeChoice>> known_;
};

}  // namespace penstock::partition
