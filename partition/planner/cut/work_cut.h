#pragma once

#include <optional>
#include <vector>

#include "partition/planner/cut/cut_solver.h"

namespace penstock::partition {

/// The work of chunks: their layers' seconds at speed 1, divided by the chunk's speed.
struct ChunkWork {
  std::vector<double> before = {};  // [i]: sum over the first i layers; empty: not known
  std::vector<double> speeds = {};  // [chunk]

  bool is_known() const { return !before.empty(); }
  double seconds(int first, int last, int chunk) const {
    return (before[last] - before[first]) / speeds[chunk];
  }
};

/// Finds cuts into chunks whose loads are their work alone. It runs the programme of
/// CutSolver<MinSum> with SIMD, for several last layers at once, and finds the same cut, ties
/// included.
class WorkCutSolver {
 public:
  /// `work` must outlive this object.
  explicit WorkCutSolver(const ChunkWork& work);

  /// Returns the cut with the least sum of loads that are all at most `limit`, with chunks that end
  /// no earlier than their `earliest_end`: the first layer of each chunk, then the number of
  /// layers. Returns nothing if there is none.
  std::optional<std::vector<int>> min_sum(double limit, const std::vector<int>& earliest_end);

 private:
  int layers() const { return static_cast<int>(work_.before.size()) - 1; }
  int chunks() const { return static_cast<int>(work_.speeds.size()); }
  void extend(int chunk, double limit, int earliest_end);

  const ChunkWork& work_;
  // Indexed by layer, padded at the end for a whole vector of last layers.
  std::vector<double> before_, best_, next_;
  std::vector<std::vector<double>> first_of_;  // [chunk][last layer]: first layer
};

}  // namespace penstock::partition
