#include "partition/schedules/gpipe.h"

#include "partition/schedules/transfers.h"

namespace penstock {

Schedule gpipe(int stages, int micro_batches) {
  Schedule schedule{.name = "gpipe", .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.chunk_rank.push_back(stage);
    auto& list = schedule.ranks.emplace_back();
    for (const ActionKind pass : {ActionKind::forward, ActionKind::backward}) {
      for (int batch = 0; batch < micro_batches; ++batch) list.push_back({pass, stage, batch});
    }
    list.push_back({ActionKind::reduce, stage});
    list.push_back({ActionKind::step});
  }
  return with_transfers(schedule);
}

}  // namespace penstock
