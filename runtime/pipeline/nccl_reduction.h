#pragma once

#include <memory>
#include <vector>

#include "comm/nccl.h"
#include "runtime/pipeline/gradient_reduction.h"

namespace penstock::runtime {

/// Returns the device memory, in bytes, that a replica's reduction needs for gradients from other
/// replicas. It is that of the largest round of any bucket, because rounds and buckets run one
/// after another.
std::size_t nccl_staging_bytes(const comm::LaneReductionPlan& plan, int replica);

/// Adds the lanes of several replicas on their devices, over NCCL, in a stream of its own.
/// ReductionOrder::lanes is a reduce-scatter and an all-gather in a tree, with the same bits as
/// LaneReduction. ReductionOrder::library adds a replica's own lanes first, then all replicas by
/// NCCL's all-reduce. Those sums are equal on all replicas, and from run to run on the same
/// machines. Their last bits depend on the number of replicas. All replicas must start the buckets
/// in the same order. No call but the constructor blocks the host.
class NcclReduction final : public GradientReduction {
 public:
  /// Connects the replicas. Collective: all of them call this, with zeros in the arenas. The
  /// arguments must outlive it.
  NcclReduction(layers::Backend& backend, layers::Stream& computing, comm::Communicator& replicas,
                const comm::LaneReductionPlan& plan, const std::vector<std::byte*>& arenas,
                ReductionOrder order = ReductionOrder::lanes);

  void start(int bucket) override;
  void progress() override { nccl_->progress(); }
  void finish() override;
  void gather(const SharedArena& arena) override;
  std::size_t staging() const override { return staging_.bytes(); }

 private:
  void connect();
  void add_by_library(int bucket);
  void add_round(int bucket, const std::vector<comm::TreeTransfer>& round);
  void gather(int bucket);

  layers::Backend& backend_;
  layers::Stream& computing_;
  comm::Communicator& replicas_;
  comm::LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  ReductionOrder order_;
  comm::TreeRounds sums_, gathers_;
  layers::Buffer staging_;
  std::unique_ptr<layers::Stream> stream_;
  std::unique_ptr<comm::NcclCommunicator> nccl_;
};

}  // namespace penstock::runtime
