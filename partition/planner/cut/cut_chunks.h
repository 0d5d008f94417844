#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "partition/planner/cut/work_cut.h"

namespace penstock::partition {

/// A layer sequence to be cut into the chunks of a schedule, whose loads are known functions.
struct ChunkCutProblem {
  int layers = 0, chunks = 1;
  double runs = 1;  // micro-batches of the busiest replica
  /// Rank that holds each chunk. Empty: every chunk has a rank of its own.
  std::vector<int> rank = {};
  /// Lower bounds on loads, from work alone. It only saves time, unless `load` is empty.
  ChunkWork work = {};
  /// Seconds per micro-batch of layers [first, last) as that chunk. It need not grow with the
  /// number of layers, since the output may shrink. Empty: loads are `work` alone, which must then
  /// be known.
  std::function<double(int first, int last, int chunk)> load = {};
  /// Lower bound on the share of the chunk's memory that the layers take. It must be additive over
  /// neighbouring ranges, and for two chunks have the same ratio for all ranges. It only saves
  /// time. Empty: nothing is known.
  std::function<double(int first, int last, int chunk)> fullness = {};
  /// Extra seconds that the layers take so that they fit into memory, such as recomputation;
  /// nothing if they can't fit. It is called only for ranges that may be in the best cut. Empty:
  /// all ranges fit.
  std::function<std::optional<double>(int first, int last, int chunk)> extra = {};

  /// Returns the load without `extra`.
  double seconds(int first, int last, int chunk) const {
    return load ? load(first, last, chunk) : work.seconds(first, last, chunk);
  }
};

/// Returns the cut with the least closed form: the first layer of each chunk, then the number of
/// layers. Returns nothing if no cut fits. The result is exact if every chunk has a rank of its
/// own. Otherwise it is the best of the cuts tried, one for each limit on the loads of chunks.
///
/// For each limit, a dynamic programme over (chunk, last layer) finds the least sum of loads, in
/// O(chunks · layers²). Limits fall below the largest load just found (the ε-constraint method,
/// Haimes et al. 1971). The first limit is the largest load that can beat a cut found with low
/// limits. Ranges that leave too much to the chunks after them are not evaluated.
[[nodiscard]] std::optional<std::vector<int>> cut_chunks(const ChunkCutProblem& problem);

/// Returns the sum of loads + (runs − 1) · the largest load of a rank, with `extra` in the loads.
[[nodiscard]] double closed_form(const ChunkCutProblem& problem, const std::vector<int>& begin);

}  // namespace penstock::partition
