#pragma once

#include <vector>

#include "partition/placement/problem.h"
#include "partition/placement/run_table.h"

namespace penstock {

/// The devices of a cluster in one or two sorts, each with the best that any of its devices has.
/// There are two, the fastest devices and the others, where no node has both: a stage with one of
/// the others is as slow as that, and shares nodes only with such.
class BestSorts {
 public:
  explicit BestSorts(const PlacementProblem& problem);

  struct Stages {
    std::vector<RunKind> runs;  // in nodes of each sort of devices
    std::vector<StageSort> sorts;
    int scarce = 0;  // stages that the fastest devices make
  };
  /// The sorts of stages with so many replicas, for any number of stages, as the first replica
  /// meets them in a run: with all replicas in its node, or one, which adds gradients over links
  /// between nodes. In a fast node a stage may be slow for its other replicas.
  Stages of(int replicas) const;

  /// Devices that runs of each kind are on.
  std::vector<std::vector<int>> devices() const;

 private:
  struct Sort {
    std::vector<int> devices;
    double speed = 0;
    LinkRates within, between;  // the least latency and the widest of its devices' links
    int largest_node = 0;       // devices
  };
  Sort sort_of(const std::vector<bool>& member) const;
  void add_stages(const Sort& slowest, const Sort& first, int replicas, Stages& stages) const;

  const PlacementProblem& problem_;
  std::vector<Sort> sorts_;  // the fastest first
};

}  // namespace penstock
