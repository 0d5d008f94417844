#pragma once

#include <optional>
#include <vector>

#include "partition/cut/cut_solver.h"
#include "partition/cut/stage_cost.h"

namespace penstock::partition {

/// Dynamic programmes over (stage, last layer) among cuts whose loads are at most a limit.
/// `sequence` and `stages` must outlive this.
class Sweep {
 public:
  Sweep(const SequenceLoad& sequence, const std::vector<StageCost>& stages);

  /// First layers of the stages, then the number of layers, with loads of the least sum.
  std::optional<std::vector<int>> least_sum(double limit) const;
  /// The least load of the slowest stage.
  std::optional<double> least_slowest(double limit) const;

  /// No stage of any cut takes longer.
  double most() const;
  /// In no cut is every stage faster, and in none is the sum less.
  double floor_of_slowest() const;
  double floor_of_sum() const;

 private:
  struct Segment;
  Segment segment(int stage, double limit) const;
  CutShape shape() const;

  const SequenceLoad& sequence_;
  const std::vector<StageCost>& stages_;
  std::vector<double> speed_left_;  // of stages k and later, added up
};

}  // namespace penstock::partition
