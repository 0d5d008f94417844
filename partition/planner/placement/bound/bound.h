#pragma once

#include <map>
#include <optional>
#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// Lower bounds on the value of a grid, for any placement and cut. See docs/design/planner.md.
class Bounds {
 public:
  /// `problem` must outlive this object.
  explicit Bounds(const PlacementProblem& problem);

  /// Returns false if no devices for the stages can hold the sequence with one micro-batch in
  /// flight.
  bool may_fit(const Grid& grid) const;

  /// Lower bounds on the sum of loads and on the slowest load of any cut on any placement.
  struct Floor {
    double sum = 0, slowest = 0;
  };
  Floor floor(const Grid& grid) const;
  /// Returns the most work per second of all stages together.
  double together(const Grid& grid) const;

  /// Returns a cheap lower bound on the value, from floor() and from work spread over the fastest
  /// devices.
  double quick(const Grid& grid) const;

  /// Returns a lower bound on the value: that of the best cut for best_stages(), and at least that
  /// of work spread over the devices' speeds. Returns nothing if even that cut does not fit into
  /// memory, or does not beat `below`.
  std::optional<double> of(const Grid& grid, double below) const;

  /// Returns costs of stages that are no higher than those of any real stage. Each has the speed,
  /// memory and links of the best one.
  std::vector<StageCost> best_stages(const Grid& grid) const;

 private:
  /// Upper bound on the speed of the k-th fastest stage: that of the ((k + 1) · R)-th fastest
  /// device, since a stage is as slow as its slowest replica.
  double speed(const Grid& grid, int k) const { return speeds_[(k + 1) * grid.replicas - 1]; }
  double spread(const Grid& grid) const;
  double widest_ring(int replicas) const;
  int largest_group(std::size_t width) const;

  const PlacementProblem& problem_;
  std::vector<double> speeds_, memories_;  // of devices, in falling order
  LinkRates link_;                         // minimum latency and maximum bandwidth of all links
  LinkCost crossing_ = {};                 // the best of all pairs of devices
  std::vector<double> widths_;             // distinct bandwidths of links, in falling order
  mutable std::map<std::size_t, int> largest_;  // [index in widths_]: result of largest_group()
};

}  // namespace penstock::partition
