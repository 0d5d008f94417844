#pragma once

#include <optional>
#include <vector>

#include "partition/cut/cut_solver.h"

namespace penstock::partition {

/// Work that chunks take time for: layers' seconds at speed 1, over the chunk's speed.
struct ChunkWork {
  std::vector<double> before = {};  // [i]: of the first i layers, rising; empty: nothing is known
  std::vector<double> speeds = {};  // of each chunk

  bool is_known() const { return !before.empty(); }
  double seconds(int first, int last, int chunk) const {
    return (before[last] - before[first]) / speeds[chunk];
  }
};

/// Cuts into chunks that cost their work alone. What it finds is what CutSolver<LeastSum> does, of
/// equal cuts the same one; it tries several last layers at once.
class WorkCutSolver {
 public:
  /// `work` must outlive this.
  explicit WorkCutSolver(const ChunkWork& work);

  /// The cut of the least sum whose loads are all at most `limit`, and whose chunks end no earlier
  /// than their earliest_end. First layer of each chunk, then the number of layers; nothing where
  /// there is none.
  std::optional<std::vector<int>> least_sum(double limit, const std::vector<int>& earliest_end);

 private:
  int layers() const { return static_cast<int>(work_.before.size()) - 1; }
  int chunks() const { return static_cast<int>(work_.speeds.size()); }
  void extend(int chunk, double limit, int earliest_end);

  const ChunkWork& work_;
  // By layer, with room behind the last for those that are tried at once.
  std::vector<double> before_, best_, next_;
  std::vector<std::vector<double>> first_of_;  // [chunk]: numbers of layers
};

}  // namespace penstock::partition
