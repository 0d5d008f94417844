#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {

/// Where each action of a schedule stands: a table by kind, chunk and micro-batch. A step is one of
/// its rank, gradients are reduced once for a chunk.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  /// Of an action of that rank, if it was added.
  std::optional<Position> find(const Action& action, int rank) const;
  /// Whether any schedule of so many chunks, micro-batches and ranks may have the action.
  bool may_hold(const Action& action, int rank) const;
  /// Of an action that the schedule may have, and that has no position yet.
  void add(const Action& action, const Position& position);
  /// Positions that were added.
  std::size_t size() const { return size_; }

 private:
  std::size_t place(const Action& action, int rank) const;

  int chunks_, micro_batches_, ranks_;
  std::size_t size_ = 0;
  std::vector<Position> table_;  // with a rank of -1 where there is none
};

}  // namespace penstock::partition
