#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partition/schedule/known_schedules.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The schedule of a run's steps, however many micro-batches a replica has in one of them.
class RunSchedule {
 public:
  /// One that make_schedule makes, for a pipeline of so many ranks. ConfigError for another name,
  /// and as make_schedule. What was made before is taken from `known`, if it is given.
  explicit RunSchedule(std::string name = "1f1b", int stages = 1,
                       std::shared_ptr<KnownSchedules> known = nullptr);

  /// Lists that were found for a whole step. `sizes` says of each of its places which of the
  /// replica's micro-batches it has, 0 being the longest; empty: it is not known. ConfigError
  /// where the lists are not sound, or `sizes` does not name every micro-batch once.
  RunSchedule(Schedule lists, std::vector<int> sizes);

  /// The lists of a step of so many micro-batches: at least 1 and, of found lists, at most theirs.
  /// What a shorter step lacks are the shortest micro-batches, or where sizes are not known the
  /// last: their actions are left out of the whole step's lists, which keeps those sound and no
  /// buffer longer in use. ConfigError for another number.
  Schedule of(int micro_batches) const;

  /// The same, of whose chunks at most so many micro-batches keep their activations on the device:
  /// see with_offload(); 0: all do.
  RunSchedule resident(int micro_batches) const;

  const std::string& name() const { return name_; }
  /// Which rank holds each chunk.
  const std::vector<int>& chunk_ranks() const { return chunk_ranks_; }
  bool splits_backward() const { return splits_backward_; }

 private:
  Schedule made(int micro_batches) const;
  Schedule without_offload(int micro_batches) const;

  std::string name_;
  int stages_ = 1;
  Schedule lists_ = {};  // found; else empty
  std::vector<int> sizes_ = {};
  std::vector<int> chunk_ranks_ = {};
  bool splits_backward_ = false;
  int resident_ = 0;
  std::shared_ptr<KnownSchedules> known_ = nullptr;
};

}  // namespace penstock::partition
