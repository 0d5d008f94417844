#pragma once

#include <optional>
#include <vector>

#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/stage_cost.h"

namespace penstock::partition {

/// Dynamic programmes over (stage, last layer), among cuts whose loads are at most a limit.
/// `sequence` and `stages` must outlive this object.
class Sweep {
 public:
  Sweep(const SequenceLoad& sequence, const std::vector<StageCost>& stages);

  /// Returns the cut with the least sum of loads: first layers of the stages, then the number of
  /// layers.
  std::optional<std::vector<int>> min_sum(double limit) const;
  /// Returns the least load of the slowest stage.
  std::optional<double> min_slowest(double limit) const;

  /// Returns an upper bound on the load of any stage of any cut.
  double max() const;
  /// Return lower bounds on the slowest load, and on the sum of loads, of any cut.
  double floor_of_slowest() const;
  double floor_of_sum() const;

 private:
  struct Segment;
  Segment segment(int stage, double limit) const;
  CutShape shape() const;

  const SequenceLoad& sequence_;
  const std::vector<StageCost>& stages_;
  std::vector<double> speed_left_;  // [k]: sum of the speeds of stages k and later
};

}  // namespace penstock::partition
