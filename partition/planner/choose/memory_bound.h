#pragma once

#include <map>
#include <utility>
#include <vector>

#include "partition/planner/choose/proposals.h"

namespace penstock::partition {

/// Refutes stages and replicas that can't fit into memory, by the bytes of parameters alone. It
/// holds for any cut, schedule, recomputation and placement.
class MemoryBound {
 public:
  explicit MemoryBound(const PlanningProblem& problem);

  /// Returns a lower bound on the fullness of the fullest stage: bytes / usable bytes, 1 if full, 0
  /// if memory is unlimited. It is the larger of two. One spreads all parameters over stages that
  /// take the devices with the most memory. The other puts the largest layer on the first of these
  /// stages.
  double fullness(const BatchChoice& batch, const Grid& grid);
  bool can_fit(const Proposal& proposal) { return fullness(proposal.batch, proposal.grid) <= 1; }

 private:
  struct Least {
    double all = 0, largest_layer = 0;  // bytes
  };
  const Least& min_of(const BatchChoice& batch, int replicas);

  const PlanningProblem& problem_;
  std::vector<double> usable_;  // of each device, in falling order
  std::map<int, Least> known_;  // by replicas
};

}  // namespace penstock::partition
