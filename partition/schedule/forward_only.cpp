#include <algorithm>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"

namespace penstock::partition {

Schedule forward_only(std::vector<int> chunk_rank, int micro_batches) {
  const int ranks = *std::max_element(chunk_rank.begin(), chunk_rank.end()) + 1;
  Schedule schedule{.name = "forward-only",
                    .micro_batches = micro_batches,
                    .forward_only = true,
                    .chunk_rank = std::move(chunk_rank)};
  schedule.ranks.resize(ranks);

  // The loop runs rounds, in which every rank does at most one forward. `done` counts the forwards
  // of each chunk. A chunk may only use what its predecessor had done `before` the round, so `done`
  // never increases along the chunks.
  std::vector<int> done(schedule.chunk_rank.size(), 0);
  while (done.back() < micro_batches) {
    const std::vector<int> before = done;
    std::vector<bool> busy(schedule.ranks.size(), false);
    for (int chunk = schedule.chunks(); chunk-- > 0;) {
      const int rank = schedule.chunk_rank[chunk];
      const int ready = chunk == 0 ? micro_batches : before[chunk - 1];
      if (busy[rank] || before[chunk] == ready) continue;
      busy[rank] = true;
      schedule.ranks[rank].push_back({ActionKind::forward, chunk, done[chunk]++});
    }
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
