#include "partition/planner/cut/rest_bound.h"

#include <algorithm>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {

// Segment k does the rest alone in a_k seconds, so its rate is 1 / a_k of the rest per second. The
// best conceivable division keeps all segments from k on busy until the end, at 1 / Σ (1 / a_j)
// seconds. No sum of costs is below the smallest a_j. Neither bound counts that layers are whole.
RestBound::RestBound(const CutShape& shape,
                     const std::function<double(int first, int last, int segment)>& at_least)
    : segments_(static_cast<std::size_t>(shape.segments)),
      sums_(at(shape.layers + 1, 0)),
      largest_(sums_.size()) {
  if (!at_least) return;
  for (int first = 0; first < shape.layers; ++first) {
    double sum = kInfeasible, rate = 0;  // over the segments from this one on
    for (int segment = shape.segments - 1; segment >= 0; --segment) {
      const double alone = at_least(first, shape.layers, segment);
      sum = std::min(sum, alone);
      rate += 1 / alone;
      sums_[at(first, segment)] = sum / kRounding;
      largest_[at(first, segment)] = alone > 0 ? 1 / (rate * kRounding) : 0;
    }
  }
}

}  // namespace penstock::partition
