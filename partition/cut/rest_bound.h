#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "partition/cut/cut_solver.h"

namespace penstock::partition {

/// What a cut leaves to the segments behind a layer: bounds that hold wherever these are cut.
class RestBound {
 public:
  /// `at_least` of [first, last) as a segment adds up over neighbouring ranges, and for two
  /// segments it is in one ratio for all ranges. Empty: all bounds are 0.
  RestBound(const CutShape& shape,
            const std::function<double(int first, int last, int segment)>& at_least);

  /// Of all segments together.
  double sum() const { return sums_[at(0, 0)]; }
  /// Of the largest of those from `segment` on, which have the layers from `first` on.
  double largest(int first, int segment) const { return largest_[at(first, segment)]; }

 private:
  std::size_t at(int first, int segment) const {
    return static_cast<std::size_t>(first) * (segments_ + 1) + static_cast<std::size_t>(segment);
  }

  std::size_t segments_;
  std::vector<double> sums_, largest_;  // [first layer][first segment]
};

}  // namespace penstock::partition
