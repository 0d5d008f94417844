#include "runtime/pipeline/gradient_reduction.h"

#include "layers/ops/optimizer.h"
#include "runtime/pipeline/gradient_buckets.h"
#include "runtime/pipeline/nccl_reduction.h"
#include "runtime/pipeline/staged_reduction.h"

namespace penstock::runtime {
namespace {

// Reduction of arenas in the host's memory, for CPUs.
class OnHost final : public GradientReduction {
 public:
  OnHost(comm::Communicator& replicas, const comm::LaneReductionPlan& plan,
         const std::vector<std::byte*>& arenas)
      : replicas_(replicas), lanes_(replicas, plan, arenas) {}

  void start(int bucket) override { lanes_.start(bucket); }
  void progress() override { lanes_.progress(); }
  void finish() override { lanes_.finish(); }
  void gather(const SharedArena& arena) override {
    comm::all_gather(replicas_, parts_of(arena, arena.data));
  }
  std::size_t staging() const override { return lanes_.staging(); }

 private:
  comm::Communicator& replicas_;
  comm::LaneReduction lanes_;
};

// Sum of the lanes of a single replica, on its device and in its computing stream.
class OnDevice final : public GradientReduction {
 public:
  OnDevice(layers::Backend& backend, layers::Stream& stream, const comm::LaneReductionPlan& plan,
           const std::vector<std::byte*>& arenas)
      : backend_(backend),
        stream_(stream),
        plan_(plan),
        arenas_(arenas),
        sums_(comm::sum_rounds(plan.lanes_of, 0)) {}

  void start(int bucket) override {
    const auto of = [&](const comm::ReplicaLane& lane) {
      return bucket_of(arenas_[static_cast<std::size_t>(lane.lane)], plan_, bucket);
    };
    for (const auto& round : sums_)
      for (const comm::TreeTransfer& transfer : round)
        backend_.run(stream_, layers::AddInto{of(transfer.from), of(transfer.to)});
  }
  void progress() override {}
  void finish() override {}
  void gather(const SharedArena&) override {}
  std::size_t staging() const override { return 0; }

 private:
  layers::Backend& backend_;
  layers::Stream& stream_;
  comm::LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  comm::TreeRounds sums_;
};

}  // namespace

std::unique_ptr<GradientReduction> make_gradient_reduction(
    const GradientReductionOptions& options) {
  const auto& [backend, stream, replicas, plan, arenas, links, order] = options;
  if (backend.kind() == layers::DeviceKind::cpu)
    return std::make_unique<OnHost>(replicas, plan, arenas);
  if (replicas.size() == 1) return std::make_unique<OnDevice>(backend, stream, plan, arenas);
  if (links == DeviceLinks::nccl)
    return std::make_unique<NcclReduction>(backend, stream, replicas, plan, arenas, order);
  return std::make_unique<StagedReduction>(backend, stream, replicas, plan, arenas);
}

}  // namespace penstock::runtime
