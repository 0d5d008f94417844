#pragma once

#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Forwards alone: validation, evaluation and transcription over the chunks of a training schedule.
/// Each chunk runs the micro-batches in their order. A rank with several chunks runs them as if all
/// took equally long: always the last one that has something to do, so that it starts new
/// micro-batches while others are on their way through other ranks, and keeps few.
Schedule forward_only(std::vector<int> chunk_rank, int micro_batches);

}  // namespace penstock::partition
