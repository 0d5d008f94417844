#pragma once

#include <vector>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// A ScheduleProblem is a step, with equal or unequal micro-batches, for which a schedule is
/// sought.
struct ScheduleProblem {
  std::vector<int> chunk_rank = {};                 // see Schedule
  std::vector<std::vector<ChunkTimes>> times = {};  // [chunk][micro-batch], in seconds
  /// [chunk]: seconds of a message between the chunk and the next one if they are on different
  /// ranks. Empty means 0.
  std::vector<double> transfers = {};
  /// [chunk][micro-batch]: memory from the start of the forward to the end of the weight gradient,
  /// in any unit. Empty means 1 each.
  std::vector<std::vector<double>> held = {};
  double memory = 0;  // limit of a rank, in the same unit; 0: no limit

  int chunks() const { return static_cast<int>(chunk_rank.size()); }
  int micro_batches() const { return static_cast<int>(times.front().size()); }
  int ranks() const;
  double held_by(int chunk, int micro_batch) const {
    return held.empty() ? 1 : held[chunk][micro_batch];
  }
  /// Returns the seconds of a message from a chunk to the next one, or 0 within a rank.
  double transfer_after(int chunk) const;

  /// Returns the durations for the event simulator, with micro-batches in `order`.
  Durations durations(const std::vector<int>& order) const;
  /// Returns the maximum memory of any rank under `schedule`, whose micro-batch i is order[i].
  double peak(const Schedule& schedule, const std::vector<int>& order) const;
  bool fits(double peak) const { return memory <= 0 || peak <= memory * (1 + 1e-9); }
};

}  // namespace penstock::partition
