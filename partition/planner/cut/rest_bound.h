#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {

/// Lower bounds on the costs of the segments after a layer, for any cut of the rest.
class RestBound {
 public:
  /// `at_least` bounds the cost of [first, last) as a segment from below. It must be additive over
  /// neighbouring ranges, and for two segments have the same ratio for all ranges. Empty: all
  /// bounds are 0.
  RestBound(const CutShape& shape,
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

  /// Bound on the sum over all segments: everything on the cheapest segment.
  double sum() const { return sums_[at(0, 0)]; }
  /// Bound on the largest cost of the segments from `segment` on, which have the layers from
  /// `first` on: their work spread evenly in time.
  double largest(int first, int segment) const { return largest_[at(first, segment)]; }

 private:
  std::size_t at(int first, int segment) const {
    return static_cast<std::size_t>(first) * (segments_ + 1) + static_cast<std::size_t>(segment);
  }

  std::size_t segments_;
  std::vector<double> sums_, largest_;  // [first layer][first segment]
};

}  // namespace penstock::partition
