#include "partition/schedules/late_weights.h"

#include <algorithm>

namespace penstock {

std::vector<Action> late_weights(int stage, int micro_batches, const LateWeights& apart) {
  std::vector<Action> list;
  int forwards = 0, weights = 0;
  for (; forwards < std::min(apart.ahead, micro_batches); ++forwards) {
    list.push_back({ActionKind::forward, stage, forwards});
  }
  for (int backwards = 0; backwards < micro_batches; ++backwards) {
    if (forwards < micro_batches) list.push_back({ActionKind::forward, stage, forwards++});
    list.push_back({ActionKind::backward_input, stage, backwards});
    if (backwards >= apart.late) list.push_back({ActionKind::backward_weight, stage, weights++});
  }
  for (; weights < micro_batches; ++weights) {
    list.push_back({ActionKind::backward_weight, stage, weights});
  }
  return list;
}

}  // namespace penstock
