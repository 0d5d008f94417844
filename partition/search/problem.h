#pragma once

#include <vector>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// A step for whose micro-batches, unequal or not, a schedule is sought.
struct ScheduleProblem {
  std::vector<int> chunk_rank = {};                 // as Schedule::chunk_rank
  std::vector<std::vector<ChunkTimes>> times = {};  // [chunk][micro-batch], seconds
  /// [chunk]: seconds of a message between that chunk and the next, where they are on different
  /// ranks. Empty: none.
  std::vector<double> transfers = {};
  /// [chunk][micro-batch]: memory from the start of the forward to the end of the weight gradient,
  /// in any unit. Empty: 1.
  std::vector<std::vector<double>> held = {};
  double memory = 0;  // that a rank has for it, in that unit; 0: no limit

  int chunks() const { return static_cast<int>(chunk_rank.size()); }
  int micro_batches() const { return static_cast<int>(times.front().size()); }
  int ranks() const;
  double held_by(int chunk, int micro_batch) const {
    return held.empty() ? 1 : held[chunk][micro_batch];
  }
  /// Between a chunk and the next; 0 within a rank.
  double transfer_behind(int chunk) const;

  /// The simulator's, for micro-batches in `order`.
  Durations durations(const std::vector<int>& order) const;
  /// The most that a rank holds under `schedule`, whose micro-batch i is order[i].
  double peak(const Schedule& schedule, const std::vector<int>& order) const;
  bool fits(double peak) const { return memory <= 0 || peak <= memory * (1 + 1e-9); }
};

}  // namespace penstock::partition
