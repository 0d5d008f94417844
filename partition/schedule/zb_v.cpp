#include <algorithm>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {
namespace {

/// Rank builds one rank's list. `down_` counts the passes on the chunk on the way to the last rank,
/// and `up_` those on the other chunk. See generators.h for the bubble and the memory.
class Rank {
 public:
  Rank(int rank, int ranks, int micro_batches)
      : micro_batches_(micro_batches), down_{rank}, up_{2 * ranks - 1 - rank} {}

  std::vector<Action> list(int rank, int ranks) {
    // With fewer micro-batches than fill the pipeline, the missing ones are counted but not added.
    const int count = std::max(micro_batches_, 2 * ranks - 1);
    for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) forward(down_);
    for (int i = 0; i < rank; ++i) forward(up_), forward(down_);
    for (int i = 0; i < ranks - rank; ++i) forward(up_), backward(up_);
    // Between forward and gradients are `rank` micro-batches on `up` and, until forwards run out,
    // 2p - 1 - rank on `down`. With the next forward these are 2p pairs, the maximum.
    while (up_.forwards < down_.forwards || down_.forwards < count) {
      if (down_.forwards < count) forward(down_);
      backward(down_);
      forward(up_);
      backward(up_);
    }
    // All forwards are done. p input gradients are left on `down`, and `rank` on `up`.
    for (int i = 0; i < rank; ++i) input(down_), input(up_);
    for (int i = 0; i < ranks - rank; ++i) input(down_), weight(down_);
    while (up_.weights < up_.inputs) weight(up_);
    while (down_.weights < down_.inputs) weight(down_);
    return std::move(list_);
  }

 private:
  struct Passes {
    int chunk = 0, forwards = 0, inputs = 0, weights = 0;
  };

  void add(ActionKind kind, int chunk, int& batch) {
    if (batch < micro_batches_) list_.push_back({kind, chunk, batch});
    ++batch;
  }
  void forward(Passes& of) { add(ActionKind::forward, of.chunk, of.forwards); }
  void input(Passes& of) { add(ActionKind::backward_input, of.chunk, of.inputs); }
  void weight(Passes& of) { add(ActionKind::backward_weight, of.chunk, of.weights); }
  void backward(Passes& of) { input(of), weight(of); }

  int micro_batches_;
  Passes down_, up_;
  std::vector<Action> list_;
};

}  // namespace

Schedule zb_v(int stages, int micro_batches) {
  Schedule schedule{.name = "zb-v", .micro_batches = micro_batches};
  schedule.chunk_rank = chunks_in_a_v(stages);
  for (int rank = 0; rank < stages; ++rank) {
    schedule.ranks.push_back(Rank(rank, stages, micro_batches).list(rank, stages));
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
