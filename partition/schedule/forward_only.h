#pragma once

#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Returns a schedule of forwards alone over the chunks of a training schedule, for validation,
/// evaluation and transcription. Each chunk runs the micro-batches in order. A rank with several
/// chunks always runs its last chunk that has an input, as if all chunks took equally long. So it
/// starts new micro-batches only while older ones are on other ranks, and holds few.
Schedule forward_only(std::vector<int> chunk_rank, int micro_batches);

}  // namespace penstock::partition
