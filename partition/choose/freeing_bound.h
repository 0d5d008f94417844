#pragma once

#include <span>
#include <vector>

namespace penstock::partition {

/// What it takes at least to free memory by recomputation of a chunk's last layers: as if each
/// freed all that it can, and a part of one a part of that (the knapsack's linear relaxation,
/// Dantzig 1957).
class FreeingBound {
 public:
  /// Of each layer: bytes that it frees at most, and seconds of its forward.
  FreeingBound(std::span<const double> bytes, std::span<const double> seconds);

  /// For so many bytes, by layers from `first` on. Infinite where all of them free less.
  /// O(log layers).
  double seconds(int first, double bytes) const;

 private:
  /// All layers from one on, those that free most a second first: added up to each of them.
  struct Sums {
    std::vector<double> bytes, seconds;
  };
  std::vector<Sums> from_;
};

}  // namespace penstock::partition
