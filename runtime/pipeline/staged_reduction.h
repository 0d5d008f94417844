#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pipeline/gradient_reduction.h"

namespace penstock::runtime {

/// Adds lanes that lie on devices, over a communicator that sends host memory only. It reduces
/// pinned copies of the arenas, which a stream of its own makes.
class StagedReduction final : public GradientReduction {
 public:
  /// All arguments must outlive it.
  StagedReduction(layers::Backend& backend, layers::Stream& computing, comm::Communicator& replicas,
                  const comm::LaneReductionPlan& plan, const std::vector<std::byte*>& arenas);

  void start(int bucket) override;
  void progress() override;
  void finish() override;
  void gather(const SharedArena& arena) override;
  std::size_t staging() const override { return lanes_.staging(); }

 private:
  layers::Backend& backend_;
  layers::Stream& computing_;
  std::unique_ptr<layers::Stream> out_;
  comm::Communicator& replicas_;
  comm::LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  std::vector<layers::Buffer> copies_;
  comm::LaneReduction lanes_;
  std::deque<std::pair<int, std::unique_ptr<layers::Event>>>
      leaving_;  // buckets being copied, in the order of start()
};

}  // namespace penstock::runtime
