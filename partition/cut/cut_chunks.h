#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "partition/cut/work_cut.h"

namespace penstock::partition {

/// A layer sequence to be cut into chunks of known loads.
struct ChunkCutProblem {
  int layers = 0, chunks = 1;
  double runs = 1;  // micro-batches of the busiest replica
  /// That holds each chunk. Empty: every chunk has one of its own.
  std::vector<int> rank = {};
  /// What the layers of a chunk take at least. Saves time.
  ChunkWork work = {};
  /// Seconds of a micro-batch's layers [first, last) as that chunk. Not always more for more
  /// layers: what leaves it may be less. Empty: their work alone, which must then be known.
  std::function<double(int first, int last, int chunk)> load = {};
  /// Of what that chunk may take of memory, the share that the layers take at least: those of
  /// neighbouring ranges add up, and two chunks' are in one ratio for all ranges. Only saves time;
  /// empty: nothing is known.
  std::function<double(int first, int last, int chunk)> fullness = {};
  /// Seconds that they take besides so that they fit into memory; nothing where they can't. Asked
  /// only for ranges that may be in the best cut. Empty: all fit as they are.
  std::function<std::optional<double>(int first, int last, int chunk)> extra = {};

  /// As `load` says.
  double seconds(int first, int last, int chunk) const {
    return load ? load(first, last, chunk) : work.seconds(first, last, chunk);
  }
};

/// The cut whose closed form is least, exactly where every chunk has a rank of its own; else the
/// best of those whose largest chunk is small: for every limit on loads a dynamic programme over
/// (chunk, last layer) gives the least sum; limits go down from the largest load just found (the
/// ε-constraint method, Haimes et al. 1971). They begin where a larger load makes a cut worse than
/// one that low limits gave, and no range is asked for that leaves too much to the chunks behind
/// it. O(chunks · layers²) a limit. First layer of each
/// chunk, then the number of layers; nothing where no cut fits.
[[nodiscard]] std::optional<std::vector<int>> cut_chunks(const ChunkCutProblem& problem);

/// sum of loads + (runs − 1) · largest load of a rank, with what they take besides.
[[nodiscard]] double closed_form(const ChunkCutProblem& problem, const std::vector<int>& begin);

}  // namespace penstock::partition
