#pragma once

#include <vector>

#include "partition/schedule/in_flight.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The buffers that the lists of a sound schedule hold at once.
struct ScheduleProof {
  std::vector<InFlight> in_flight;  // one per chunk
};

/// Proves that the lists are complete and cannot hang:
/// - Every micro-batch passes forward, backward (whole or in its two parts) and its transfers once
///   and in order, on every chunk.
/// - Weight gradients accumulate in micro-batch order, are reduced once and then stepped once.
/// - An offload follows the passing on of the output, and the reload precedes the backward.
/// - Every send has its receive, in the same order on each edge.
/// - No rank waits for ever. In this proof a send ends only when its receive is posted, and posting
///   does not wait. Forward and backward wait for their message, and a step for all ranks.
///
/// Throws UnsoundSchedule (partition/schedule/validator/unsound.h), a ConfigError, which names the
/// fault's position.
ScheduleProof validate(const Schedule& schedule);

}  // namespace penstock::partition
