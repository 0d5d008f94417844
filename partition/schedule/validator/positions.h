#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {

/// Positions is a table of the position of each action, by kind, chunk and micro-batch. A step is
/// stored by its rank, and a reduce once per chunk. Its size is the product of the numbers of
/// chunks and micro-batches, so whoever makes one checks first that the lists have so many actions.
class Positions {
 public:
  explicit Positions(const Schedule& schedule);

  /// Returns the position of an action of that rank, if it was added.
  std::optional<Position> find(const Action& action, int rank) const;
  /// Returns true if a schedule with this many chunks, micro-batches and ranks may contain the
  /// action.
  bool may_hold(const Action& action, int rank) const;
  /// Adds an action for which may_hold() is true and that has no position yet.
  void add(const Action& action, const Position& position);
  /// The number of positions that were added.
  std::size_t size() const { return size_; }

 private:
  std::size_t place(const Action& action, int rank) const;

  int chunks_, micro_batches_, ranks_;
  std::size_t size_ = 0;
  std::vector<Position> table_;  // the rank is -1 if the action has no position
};

}  // namespace penstock::partition
