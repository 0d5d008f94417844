#include "partition/schedule/one_chunk.h"

#include <algorithm>

#include "partition/schedule/complete.h"

namespace penstock::partition {
namespace {

/// How far a stage's three passes are apart.
struct LateWeights {
  int ahead = 0;  // forwards before the first turn of a forward and an input gradient
  int late = 0;   // input gradients whose weight gradient still waits
};

/// The list of a stage: `ahead` forwards; then in turn a forward, an input gradient and, once more
/// than `late` wait, a weight gradient; at the end the weight gradients that are left.
std::vector<Action> late_weights(int stage, int micro_batches, const LateWeights& apart) {
  std::vector<Action> list;
  int forwards = 0, weights = 0;
  for (; forwards < std::min(apart.ahead, micro_batches); ++forwards) {
    list.push_back({ActionKind::forward, stage, forwards});
  }
  // forwards = min(m, ahead + backwards), weights = max(0, backwards - late)
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

}  // namespace

Schedule gpipe(int stages, int micro_batches) {
  return in_line("gpipe", stages, micro_batches, [&](int stage) {
    std::vector<Action> list;
    for (const ActionKind pass : {ActionKind::forward, ActionKind::backward}) {
      for (int batch = 0; batch < micro_batches; ++batch) list.push_back({pass, stage, batch});
    }
    return list;
  });
}

Schedule one_forward_one_backward(int stages, int micro_batches) {
  return in_line("1f1b", stages, micro_batches, [&](int stage) {
    std::vector<Action> list;
    const int ahead = std::min(micro_batches, stages - 1 - stage);
    int forwards = 0;
    for (; forwards < ahead; ++forwards) list.push_back({ActionKind::forward, stage, forwards});
    // forwards = min(m, ahead + backwards): with the next one, p - s are in flight at most.
    for (int backwards = 0; backwards < micro_batches; ++backwards) {
      if (forwards < micro_batches) list.push_back({ActionKind::forward, stage, forwards++});
      list.push_back({ActionKind::backward, stage, backwards});
    }
    return list;
  });
}

Schedule zb_h1(int stages, int micro_batches) {
  return in_line("zb-h1", stages, micro_batches, [&](int stage) {
    return late_weights(stage, micro_batches, {.ahead = stages - 1 - stage, .late = stage});
  });
}

Schedule zb_h2(int stages, int micro_batches) {
  return in_line("zb-h2", stages, micro_batches, [&](int stage) {
    return late_weights(stage, micro_batches,
                        {.ahead = 2 * (stages - 1 - stage), .late = 2 * stage});
  });
}

}  // namespace penstock::partition
