#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// Schedules of one chunk per rank: stage s is chunk s on rank s. p is the number of stages, and m
// the number of micro-batches. F, B and W are the seconds of forward, input gradient and weight
// gradient.

/// Runs all forwards, then all backwards, both in micro-batch order. The bubble is (p-1)(F+B), and
/// the activations of all micro-batches are in flight (Huang et al. 2019).
Schedule gpipe(int stages, int micro_batches);

/// Stage s runs p-1-s forwards ahead, then alternates one forward and one backward. The bubble is
/// that of GPipe, but only min(m, p-s) activations are in flight (Narayanan et al. 2019).
Schedule one_forward_one_backward(int stages, int micro_batches);

/// 1F1B with split backward (B and W): weight gradients fill the time in which 1F1B is idle at the
/// end. Stage s runs p-1-s forwards ahead and delays s weight gradients. The bubble is
/// (p-1)(F+B-W). Stage s has p-s micro-batches between forward and input gradient, and min(m, p)
/// between forward and weight gradient (Qi et al. 2024, section 2.1).
Schedule zb_h1(int stages, int micro_batches);

/// ZB-H1 with twice the forwards ahead, which fill the start, and twice as many weight gradients
/// delayed, which fill the end. Every rank is busy from its first action to its last if F = B = W.
/// The bubble is (p-1)(F+B-2W). Stage s has 2(p-s)-1 micro-batches between forward and input
/// gradient, and min(m, 2p-1) between forward and weight gradient (Qi et al. 2024, section 2.2).
Schedule zb_h2(int stages, int micro_batches);

}  // namespace penstock::partition
