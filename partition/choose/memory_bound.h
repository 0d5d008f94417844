#pragma once

#include <map>
#include <utility>
#include <vector>

#include "partition/choose/proposals.h"

namespace penstock::partition {

/// What parameters alone say of stages and replicas that can't fit into memory, whatever the cut,
/// the schedule, recomputation and placement.
class MemoryBound {
 public:
  explicit MemoryBound(const PlanningProblem& problem);

  /// How full the fullest stage is at least, 1 being all that it may take; 0 where nothing limits
  /// it. Of all parameters on the stages, each on the devices with most memory that are left, or of
  /// the largest layer on the first of them.
  double fullness(const BatchChoice& batch, const Grid& grid);
  bool can_fit(const Proposal& proposal) { return fullness(proposal.batch, proposal.grid) <= 1; }

 private:
  struct Least {
    double all = 0, largest_layer = 0;  // bytes
  };
  const Least& least_of(const BatchChoice& batch, int replicas);

  const PlanningProblem& problem_;
  std::vector<double> usable_;  // of the devices, most first
  std::map<int, Least> known_;  // by replicas
};

}  // namespace penstock::partition
