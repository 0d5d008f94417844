#pragma once

#include <span>
#include <vector>

namespace penstock::partition {

/// Bounds from below the seconds of recomputation that free a number of bytes, using only the last
/// layers of a chunk. It assumes that each layer frees the most that it can, and that a fraction of
/// a layer frees that fraction: the linear relaxation of the knapsack problem (Dantzig 1957).
class FreeingBound {
 public:
  /// `bytes` has an upper bound on what each layer frees, `seconds` the time of its forward.
  FreeingBound(std::span<const double> bytes, std::span<const double> seconds);

  /// Returns the least seconds to free `bytes` by layers from `first` on. Infinite if all of them
  /// free less. O(log layers).
  double seconds(int first, double bytes) const;

 private:
  /// Prefix sums over the layers from one on, in falling order of bytes freed per second.
  struct Sums {
    std::vector<double> bytes, seconds;
  };
  std::vector<Sums> from_;
};

}  // namespace penstock::partition
