#include "partition/schedules/gpipe.h"

#include "partition/schedules/complete.h"

namespace penstock {

Schedule gpipe(int stages, int micro_batches) {
  return in_line("gpipe", stages, micro_batches, [&](int stage) {
    std::vector<Action> list;
    for (const ActionKind pass : {ActionKind::forward, ActionKind::backward}) {
      for (int batch = 0; batch < micro_batches; ++batch) list.push_back({pass, stage, batch});
    }
    return list;
  });
}

}  // namespace penstock
