#pragma once

#include "partition/schedule.h"

namespace penstock {

/// Stage s runs p-1-s forwards ahead, then a forward and a backward in turn; stage s is chunk s on
/// rank s. Bubble as GPipe, but only min(m, p-s) activations in flight (Narayanan et al. 2019).
Schedule one_forward_one_backward(int stages, int micro_batches);

}  // namespace penstock
