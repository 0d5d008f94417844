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
    std::vector<StageSort> sorts;
    int scarce = 0;  // stages that the fastest devices make
  };
  /// The sorts of stages with so many replicas, for any number of stages: of each, devices of one
  /// node, and devices of several, which add gradients over links between nodes.
  Stages of(int replicas) const;

  /// Devices of the sorts, in the order of stages of one replica.
  std::vector<std::vector<int>> devices() const;

 private:
  struct Sort {
    std::vector<int> devices;
    double speed = 0;
    LinkRates within, between;  // the least latency and the widest of its devices' links
    int largest_node = 0;       // devices
  };
  Sort sort_of(const std::vector<bool>& member) const;
  void add_stages(const Sort& sort, int replicas, bool all_alike, Stages& stages) const;

  const PlacementProblem& problem_;
  std::vector<Sort> sorts_;  // the fastest first
};

}  // namespace penstock
