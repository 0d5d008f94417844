#pragma once

#include <memory>
#include <vector>

#include "comm/nccl.h"
#include "runtime/pipeline/gradient_reduction.h"

namespace penstock::runtime {

/// Device memory that the reduction of a replica keeps for what other lanes send: of one round of a
/// bucket, the largest, since buckets follow each other.
std::size_t nccl_staging_bytes(const comm::LaneReductionPlan& plan, int replica);

/// Adds the lanes of several replicas on their devices, over NCCL, in a stream of its own beside
/// the computing: reduce-scatter and all-gather in a tree, bit for bit as LaneReduction; or a
/// replica's own lanes first and then all replicas by NCCL's all-reduce, whose sums are equal on
/// all replicas, and from run to run on the same machines, but differ in their last bits for other
/// numbers of replicas. All replicas start the buckets in the same order. Nothing of it waits on
/// the host.
class NcclReduction final : public GradientReduction {
 public:
  /// Connects the replicas: all of them call this, with zeros in the arenas. All arguments must
  /// outlive it.
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
