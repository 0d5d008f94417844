#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partition/schedule/make_schedule.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A RunSchedule gives the lists of each of a run's steps, for any number of micro-batches per
/// replica.
class RunSchedule {
 public:
  /// Uses a schedule that make_schedule() makes, for a pipeline of `stages` ranks. Throws
  /// ConfigError as make_schedule() does. If `known` is given, schedules are taken from that cache.
  explicit RunSchedule(std::string name = "1f1b", int stages = 1,
                       std::shared_ptr<ScheduleCache> known = nullptr);

  /// Uses lists that were found for a whole step. `sizes[i]` is the place of micro-batch i in the
  /// replica's order of size, where 0 is the longest; empty means that it is not known. Throws
  /// ConfigError if the lists are not sound, or if `sizes` does not name every micro-batch once.
  RunSchedule(Schedule lists, std::vector<int> sizes);

  /// Returns the lists of a step of so many micro-batches: at least 1, and for found lists at most
  /// as many as the lists have. A shorter step lacks the shortest micro-batches, or the last ones
  /// if sizes are not known. Their actions are left out of the whole step's lists. The lists stay
  /// sound, and no buffer is in use for longer. Throws ConfigError for any other number.
  Schedule of(int micro_batches) const;

  /// Returns a copy in which at most `micro_batches` of each chunk keep their activations on the
  /// device, see with_offload(); 0 keeps all.
  RunSchedule resident(int micro_batches) const;

  const std::string& name() const { return name_; }
  /// The rank of each chunk.
  const std::vector<int>& chunk_ranks() const { return chunk_ranks_; }
  bool splits_backward() const { return splits_backward_; }

 private:
  Schedule made(int micro_batches) const;
  Schedule without_offload(int micro_batches) const;

  std::string name_;
  int stages_ = 1;
  Schedule lists_ = {};  // lists that were found; empty for a named schedule
  std::vector<int> sizes_ = {};
  std::vector<int> chunk_ranks_ = {};
  bool splits_backward_ = false;
  int resident_ = 0;
  std::shared_ptr<ScheduleCache> known_ = nullptr;
};

}  // namespace penstock::partition
