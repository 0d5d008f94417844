#include "partition/schedules/forward_only.h"

#include <algorithm>
#include <utility>

#include "partition/schedules/transfers.h"

namespace penstock {

Schedule forward_only(std::vector<int> chunk_rank, int micro_batches) {
  const int ranks = *std::max_element(chunk_rank.begin(), chunk_rank.end()) + 1;
  Schedule schedule{.name = "forward-only",
                    .micro_batches = micro_batches,
                    .forward_only = true,
                    .chunk_rank = std::move(chunk_rank)};
  schedule.ranks.resize(ranks);
  for (int batch = 0; batch < micro_batches; ++batch) {
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
      schedule.ranks[schedule.chunk_rank[chunk]].push_back({ActionKind::forward, chunk, batch});
    }
  }
  return with_transfers(schedule);
}

}  // namespace penstock
