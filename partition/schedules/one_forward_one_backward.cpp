#include "partition/schedules/one_forward_one_backward.h"

#include <algorithm>

#include "partition/schedules/complete.h"

namespace penstock {

Schedule one_forward_one_backward(int stages, int micro_batches) {
  return in_line("1f1b", stages, micro_batches, [&](int stage) {
    std::vector<Action> list;
    const int ahead = std::min(micro_batches, stages - 1 - stage);
    int forwards = 0;
    for (; forwards < ahead; ++forwards) list.push_back({ActionKind::forward, stage, forwards});
    for (int backwards = 0; backwards < micro_batches; ++backwards) {
      if (forwards < micro_batches) list.push_back({ActionKind::forward, stage, forwards++});
      list.push_back({ActionKind::backward, stage, backwards});
    }
    return list;
  });
}

}  // namespace penstock
