#include "partition/schedules/one_forward_one_backward.h"

#include <algorithm>

#include "partition/schedules/transfers.h"

namespace penstock {

Schedule one_forward_one_backward(int stages, int micro_batches) {
  Schedule schedule{.name = "1f1b", .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.chunk_rank.push_back(stage);
    auto& list = schedule.ranks.emplace_back();
    const int ahead = std::min(micro_batches, stages - 1 - stage);
    int forwards = 0;
    for (; forwards < ahead; ++forwards) list.push_back({ActionKind::forward, stage, forwards});
    for (int backwards = 0; backwards < micro_batches; ++backwards) {
      if (forwards < micro_batches) list.push_back({ActionKind::forward, stage, forwards++});
      list.push_back({ActionKind::backward, stage, backwards});
    }
    list.push_back({ActionKind::reduce, stage});
    list.push_back({ActionKind::step});
  }
  return with_transfers(schedule);
}

}  // namespace penstock
