#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// Schedules of one chunk a rank: stage s is chunk s on rank s. p is the number of stages, m that of
// micro-batches; F, B and W are the seconds of forward, input gradient and weight gradient.

/// All forwards, then all backwards, both in micro-batch order; stage s is chunk s on rank s.
/// Bubble (p-1)(F+B), activations of all micro-batches in flight (Huang et al. 2019).
Schedule gpipe(int stages, int micro_batches);

/// Stage s runs p-1-s forwards ahead, then a forward and a backward in turn; stage s is chunk s on
/// rank s. Bubble as GPipe, but only min(m, p-s) activations in flight (Narayanan et al. 2019).
Schedule one_forward_one_backward(int stages, int micro_batches);

/// 1F1B with split backward (B and W): weight gradients wait for what 1F1B leaves idle at the end.
/// Stage s is chunk s on rank s; p-1-s forwards ahead, s weight gradients late. Bubble
/// (p-1)(F+B-W); stage s has p-s micro-batches between forward and input gradient, and min(m, p)
/// until their weight gradients (Qi et al. 2024, section 2.1).
Schedule zb_h1(int stages, int micro_batches);

/// ZB-H1 with twice the forwards ahead, which fill the start, and twice as many weight gradients
/// late, which fill the end: every rank is busy from its first action to its last where F = B = W.
/// Bubble (p-1)(F+B-2W); stage s has 2(p-s)-1 micro-batches between forward and input gradient,
/// and min(m, 2p-1) until their weight gradients (Qi et al. 2024, section 2.2).
Schedule zb_h2(int stages, int micro_batches);

}  // namespace penstock::partition
