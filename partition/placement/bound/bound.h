#pragma once

#include <map>
#include <optional>
#include <vector>

#include "partition/placement/bound/run_table.h"

namespace penstock::partition {

/// What no placement of a grid can beat, whatever the cut.
class Bounds {
 public:
  /// `problem` must outlive this.
  explicit Bounds(const PlacementProblem& problem);

  /// False where the stages' devices can't hold what one micro-batch in flight takes.
  bool may_fit(const Grid& grid) const;

  /// What no cut on any placement is below: its sum of loads, and its slowest stage.
  struct Floor {
    double sum = 0, slowest = 0;
  };
  Floor floor(const Grid& grid) const;
  /// The most work that all stages can do in a second.
  double together(const Grid& grid) const;

  /// From the layer sequence's work and the fastest devices alone.
  double quick(const Grid& grid) const;

  /// The best cut where every stage has the devices, links and memory of the best one; on mixed
  /// devices no less than work spread over their speeds takes. Nothing where not even that fits
  /// in memory or beats `below`.
  std::optional<double> of(const Grid& grid, double below) const;

  /// Stages at their best: none of them is slower or has less memory on any placement.
  std::vector<StageCost> best_stages(const Grid& grid) const;

 private:
  /// Of the k-th fastest stage, at most: of its replicas the slowest counts.
  double speed(const Grid& grid, int k) const { return speeds_[(k + 1) * grid.replicas - 1]; }
  double spread(const Grid& grid) const;
  double least_slowest(const Grid& grid, double highest) const;
  double largest_load(const Grid& grid) const;
  double widest_ring(int replicas) const;
  int largest_group(std::size_t width) const;

  const PlacementProblem& problem_;
  std::vector<double> speeds_, memories_;       // of devices, most first
  LinkRates link_;                              // the least latency, the most bandwidth
  LinkCost crossing_ = {};                      // the best of all, there and back
  std::vector<double> widths_;                  // bandwidths of links, most first
  mutable std::map<std::size_t, int> largest_;  // devices that links that wide join
  mutable std::map<int, RunTable> tables_;      // by replicas
};

}  // namespace penstock::partition
