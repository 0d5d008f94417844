#include <algorithm>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"

namespace penstock::partition {
namespace {

/// PassOffsets is the distance between the three passes of a stage.
struct PassOffsets {
  int ahead = 0;  // forwards before the first pair of a forward and an input gradient
  int late = 0;   // maximum number of input gradients whose weight gradient still waits
};

/// Returns the list of a stage. First come `ahead` forwards. Then a forward and an input gradient
/// alternate, followed by a weight gradient once more than `late` wait. The remaining weight
/// gradients come last.
std::vector<Action> late_weights(int stage, int micro_batches, const PassOffsets& apart) {
  std::vector<Action> list;
  int forwards = 0, weights = 0;
  for (; forwards < std::min(apart.ahead, micro_batches); ++forwards) {
    list.push_back({ActionKind::forward, stage, forwards});
  }
  // Invariant: forwards = min(m, ahead + backwards), weights = max(0, backwards - late).
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
    // Invariant: forwards = min(m, ahead + backwards). With the next forward, at most p - s are in
    // flight.
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
