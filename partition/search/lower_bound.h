#pragma once

#include "partition/search/problem.h"

namespace penstock::partition {

/// Seconds from first start to last end that no schedule of the problem can beat: the most over
/// the ranks of what follows from three stretches of a step on a rank.
/// - Before its first input gradient starts, a micro-batch has come all the way to the loss and
///   back; meanwhile the rank can only do forwards, of as many as its memory holds.
/// - From its last forward's end, that micro-batch goes on to the loss and back to the features;
///   meanwhile the rank can do its gradients only for what its memory held then.
/// - From its last input gradient's end, that goes on to the features; meanwhile the rank can only
///   do weight gradients of what its memory held then.
/// What fits into memory is bounded by the fractional knapsack (Dantzig 1957). Time
/// O(chunks · micro-batches · log(micro-batches)).
[[nodiscard]] double lower_bound(const ScheduleProblem& problem);

}  // namespace penstock::partition
