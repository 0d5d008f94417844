#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pipeline/gradient_reduction.h"

namespace penstock {

/// Adds lanes that lie on devices where the ranks send the host's memory only: through pinned
/// copies of the arenas, in a stream of their own.
class StagedReduction final : public GradientReduction {
 public:
  /// All arguments must outlive it.
  StagedReduction(Backend& backend, Stream& computing, Communicator& replicas,
                  const LaneReductionPlan& plan, const std::vector<std::byte*>& arenas);

  void start(int bucket) override;
  void progress() override;
  void finish() override;
  void gather(const SharedArena& arena) override;
  std::size_t staging() const override { return lanes_.staging(); }

 private:
  Backend& backend_;
  Stream& computing_;
  std::unique_ptr<Stream> out_;
  Communicator& replicas_;
  LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  std::vector<Buffer> copies_;
  LaneReduction lanes_;
  std::deque<std::pair<int, std::unique_ptr<Event>>> leaving_;  // buckets, in the order of start()
};

}  // namespace penstock
