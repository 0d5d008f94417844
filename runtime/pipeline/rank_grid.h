#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "partition/planner/plan/plan.h"

namespace penstock::runtime {

/// The ranks of a job, and the two groups that this rank belongs to.
class RankGrid {
 public:
  /// `world` must outlive the grid. CommError if its size differs from the plan's number of ranks.
  RankGrid(comm::Communicator& world, const partition::Plan& plan);

  comm::Communicator& world() const { return world_; }
  /// Ranks that hold this replica's stages, in order.
  comm::Communicator& pipeline() const { return *pipeline_; }
  /// Ranks that hold this stage, by replica.
  comm::Communicator& replicas() const { return *replicas_; }
  const partition::StageReplica& here() const { return here_; }
  /// Returns a rank of world().
  int rank_of(const partition::StageReplica& place) const {
    return ranks_[static_cast<std::size_t>(place.stage)][static_cast<std::size_t>(place.replica)];
  }

 private:
  comm::Communicator& world_;
  std::vector<std::vector<int>> ranks_;  // [stage][replica]
  partition::StageReplica here_;
  std::unique_ptr<comm::Communicator> pipeline_, replicas_;
};

}  // namespace penstock::runtime
