#pragma once

#include <vector>

#include "partition/schedule/in_flight.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// What the lists of a sound schedule hold at once.
struct ScheduleProof {
  std::vector<InFlight> in_flight;  // by chunk
};

/// Proves that lists are complete and can't hang. Every micro-batch passes forward, backward (whole
/// or in its two parts) and its transfers once and in order on every chunk; gradients of
/// weights accumulate in micro-batch order, are reduced once and then stepped once; what is
/// offloaded has passed its output on, and is reloaded before its backward; every send has its
/// receive, in the same order on each edge; and no rank waits for ever where a send ends only when
/// its receive is posted, posting a receive does not wait, forward and backward wait for their
/// message and a step for all ranks. UnsoundSchedule (partition/schedule/validator/unsound.h), a
/// ConfigError, says where a list breaks.
ScheduleProof validate(const Schedule& schedule);

}  // namespace penstock::partition
