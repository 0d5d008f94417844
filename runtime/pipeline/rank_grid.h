#pragma once

#include <memory>

#include "comm/communicator.h"
#include "partition/plan/plan.h"

namespace penstock {

/// The ranks of a job and the two groups that this one belongs to.
class RankGrid {
 public:
  /// `world` must outlive the grid. CommError if it has another size than the plan's ranks.
  RankGrid(Communicator& world, const Plan& plan);

  Communicator& world() const { return world_; }
  /// Ranks that hold this replica's stages, in order.
  Communicator& pipeline() const { return *pipeline_; }
  /// Ranks that hold this stage, by replica.
  Communicator& replicas() const { return *replicas_; }
  const StageReplica& here() const { return here_; }

 private:
  Communicator& world_;
  StageReplica here_;
  std::unique_ptr<Communicator> pipeline_, replicas_;
};

}  // namespace penstock
