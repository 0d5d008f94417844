#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Two chunks a rank, down the ranks and up again: rank r holds chunks r and 2p-1-r, so that loss
/// and features are on rank 0. No bubble where F = B = W; at most 2p pairs of chunk and
/// micro-batch in flight on every rank, the memory of 1F1B's first stage (Qi et al. 2024: Pipeline
/// Parallelism with Controllable Memory; the order of actions is that of PyTorch's
/// ScheduleZBVZeroBubble).
Schedule zb_v(int stages, int micro_batches);

}  // namespace penstock::partition
