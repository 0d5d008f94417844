#pragma once

#include "partition/schedule.h"

namespace penstock {

/// ZB-H1 with twice the forwards ahead, which fill the start, and twice as many weight gradients
/// late, which fill the end: every rank is busy from its first action to its last where F = B = W.
/// Bubble (p-1)(F+B-2W); stage s has 2(p-s)-1 micro-batches between forward and input gradient,
/// and min(m, 2p-1) until their weight gradients (Qi et al. 2024, section 2.2).
Schedule zb_h2(int stages, int micro_batches);

}  // namespace penstock
