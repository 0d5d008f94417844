#pragma once

#include "partition/schedule.h"

namespace penstock {

/// 1F1B with parted backward: weight gradients wait for what 1F1B leaves idle at the end. Stage s
/// is chunk s on rank s; p-1-s forwards ahead, s weight gradients late. Bubble (p-1)(F+B-W);
/// stage s has p-s micro-batches between forward and input gradient, and min(m, p) until
/// their weight gradients (Qi et al. 2024, section 2.1).
Schedule zb_h1(int stages, int micro_batches);

}  // namespace penstock
