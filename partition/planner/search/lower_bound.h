#pragma once

#include "partition/planner/search/problem.h"

namespace penstock::partition {

/// Returns a number of seconds from first start to last end that no schedule of the problem can
/// beat. It is the maximum over ranks of a bound from three intervals of a step:
/// - Before a rank's first input gradient starts, a micro-batch passes all chunks to the loss and
///   comes back. Meanwhile the rank can only run forwards, of as many micro-batches as its memory
///   holds.
/// - After its last forward ends, that micro-batch goes on to the loss and back to the features.
///   Meanwhile the rank can run gradients only of what its memory held then.
/// - After its last input gradient ends, that gradient goes on to the features. Meanwhile the rank
///   can only run weight gradients of what its memory held then.
///
/// The amount that fits into memory is bounded by the fractional knapsack (Dantzig 1957). The time
/// is O(chunks * micro-batches * log(micro-batches)).
[[nodiscard]] double lower_bound(const ScheduleProblem& problem);

}  // namespace penstock::partition
