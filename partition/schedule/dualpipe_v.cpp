#include <algorithm>
#include <deque>
#include <utility>

#include "partition/schedule/complete.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {
namespace {

/// HalfOfDualPipe builds one rank's list. `down_` counts the passes begun on the chunk on the way
/// to the last rank, and `up_` those on the other chunk.
///
/// The list has six phases (see generators.h):
/// - forwards on `down`;
/// - forwards on both chunks in turn;
/// - input gradients, weight gradients and forwards on `up` in turn;
/// - the main phase, in which each forward is paired with a backward of the other chunk;
/// - backwards of both chunks, while forwards run out on `up`;
/// - drain().
class HalfOfDualPipe {
 public:
  HalfOfDualPipe(int rank, int ranks, int micro_batches)
      : rank_(rank),
        ahead_(ranks - 1 - rank),
        micro_batches_(micro_batches),
        // With fewer micro-batches than fill the pipeline, the missing ones are counted but not
        // added.
        count_(std::max(micro_batches, 2 * ranks)),
        main_(count_ - 2 * ranks + rank + 1),
        down_{rank},
        up_{2 * ranks - 1 - rank} {}

  std::vector<Action> list() {
    for (int i = 0; i < 2 * ahead_; ++i) forward(down_);
    for (int i = 0; i <= rank_; ++i) forward(down_), forward(up_);
    for (int i = 0; i < ahead_; ++i) input(up_), weight(), forward(up_);
    for (int i = 0; i < main_; ++i) {
      forward(down_), backward(up_);
      forward(up_), backward(down_);
    }
    for (int i = 0; i < ahead_; ++i) backward(up_), forward(up_), backward(down_);
    drain();
    return std::move(list_);
  }

 private:
  struct Passes {
    int chunk = 0, forwards = 0, inputs = 0;
  };

  /// Runs when all forwards are done. rank + 1 input gradients are left on `up`, and p on `down`.
  /// In the first half of the loop each input gradient is followed at once by its weight gradient.
  void drain() {
    const int half = (rank_ + 1) / 2;
    for (int i = 0; i <= rank_; ++i) {
      const bool up_waits = i > half || (i == half && rank_ % 2 == 1);
      if (up_waits)
        input(up_);
      else
        backward(up_);
      if (i >= half)
        input(down_);
      else
        backward(down_);
    }
    for (int i = 0; i < ahead_; ++i) weight(), input(down_);
    while (!waiting_.empty()) weight();
  }

  void add(const Action& action) {
    if (action.micro_batch < micro_batches_) list_.push_back(action);
  }
  void forward(Passes& of) { add({ActionKind::forward, of.chunk, of.forwards++}); }
  void input(Passes& of) {
    add({ActionKind::backward_input, of.chunk, of.inputs});
    waiting_.push_back({ActionKind::backward_weight, of.chunk, of.inputs++});
  }
  void backward(Passes& of) {
    add({ActionKind::backward_input, of.chunk, of.inputs});
    add({ActionKind::backward_weight, of.chunk, of.inputs++});
  }
  /// Adds the weight gradient that has waited longest.
  void weight() {
    add(waiting_.front());
    waiting_.pop_front();
  }

  int rank_, ahead_, micro_batches_, count_, main_;
  Passes down_, up_;
  std::deque<Action> waiting_;  // weight gradients that are still to run, oldest first
  std::vector<Action> list_;
};

}  // namespace

Schedule dualpipe_v(int stages, int micro_batches) {
  Schedule schedule{.name = "dualpipe-v", .micro_batches = micro_batches};
  schedule.chunk_rank = chunks_in_a_v(stages);
  for (int rank = 0; rank < stages; ++rank) {
    schedule.ranks.push_back(HalfOfDualPipe(rank, stages, micro_batches).list());
  }
  return complete(std::move(schedule));
}

}  // namespace penstock::partition
