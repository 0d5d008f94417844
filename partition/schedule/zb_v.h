#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Two chunks per rank, down the ranks and up again: rank r holds chunks r and 2p-1-r. So the loss
/// and the features are on rank 0. There is no bubble if F = B = W. At most 2p pairs of chunk and
/// micro-batch are in flight on every rank, the memory of 1F1B's first stage (Qi et al. 2024:
/// Pipeline Parallelism with Controllable Memory). The order of actions is that of PyTorch's
/// ScheduleZBVZeroBubble.
Schedule zb_v(int stages, int micro_batches);

}  // namespace penstock::partition
