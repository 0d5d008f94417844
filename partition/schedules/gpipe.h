#pragma once

#include "partition/schedule.h"

namespace penstock {

/// All forwards, then all backwards, both in micro-batch order; stage s is chunk s on rank s.
/// Bubble (p-1)(F+B), activations of all micro-batches in flight (Huang et al. 2019).
Schedule gpipe(int stages, int micro_batches);

}  // namespace penstock
