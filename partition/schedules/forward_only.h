#pragma once

#include <vector>

#include "partition/schedule.h"

namespace penstock {

/// Forwards alone, in micro-batch order and on each rank in chain order: validation, evaluation
/// and transcription over the chunks of a training schedule.
Schedule forward_only(std::vector<int> chunk_rank, int micro_batches);

}  // namespace penstock
