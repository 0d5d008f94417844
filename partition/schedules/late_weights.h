#pragma once

#include <vector>

#include "partition/schedule.h"

namespace penstock {

/// How far a stage's three passes are apart.
struct LateWeights {
  int ahead = 0;  // forwards before the first turn of a forward and an input gradient
  int late = 0;   // input gradients whose weight gradient still waits
};

/// The list of a stage: `ahead` forwards; then in turn a forward, an input gradient and, once more
/// than `late` wait, a weight gradient; at the end the weight gradients that are left.
std::vector<Action> late_weights(int stage, int micro_batches, const LateWeights& apart);

}  // namespace penstock
