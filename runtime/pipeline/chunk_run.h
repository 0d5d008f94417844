#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "partition/schedule/schedule.h"
#include "runtime/pipeline/chunk.h"
#include "runtime/pipeline/executor.h"

namespace penstock::runtime {

/// What one action list is run with.
struct ActionContext {
  comm::Communicator& pipeline;
  const partition::Schedule& schedule;
  const StepWork& step;
  layers::Mode mode;
  const ExecutorCallbacks& callbacks;
  StepSums& sums;                // of the stage
  std::function<void()> reload;  // starts what any chunk can reload by now
};

/// One chunk during one action list: its micro-batches' buffers and transfers.
class ChunkRun {
 public:
  /// `before` is the chunk before this one in the layer sequence where this rank holds that too:
  /// what passes between the two is copied, not sent.
  ChunkRun(const ActionContext& context, Chunk& chunk, int place, ChunkRun* before);

  void perform(const partition::Action& action);
  /// Starts the reloads that it was told of and that a slot is free for. A reload doesn't keep its
  /// rank: it waits beside what the rank computes.
  void start_reloads();
  /// Leaves losses and what is still being sent to the sums: Stage::complete() waits for it.
  void leave();

 private:
  /// A micro-batch on the chunk, with its messages under way.
  struct Flight : MicroBatchRun {
    std::unique_ptr<comm::Transfer> activation_in, activation_out, gradient_in, gradient_out;
    bool gradient_sent = false;  // it is on its way, or gone
    std::unique_ptr<layers::Event> offloaded, reloaded;
    bool ended = false;  // nothing of what is kept is needed but by what it sends
  };

  void forward(Flight& flight, int micro_batch);
  void take_recompute_buffer(Flight& flight);
  void offload(Flight& flight);
  void await_reload(Flight& flight);
  void take_input(Flight& flight, int micro_batch);
  Chunk::Fill features_of(int micro_batch) const;
  void read_behind(int micro_batch);
  void backward(Flight& flight, const partition::Action& action);
  void pass_back(Flight& flight, int micro_batch);
  void start_backward(Flight& flight);
  void end_backward(Flight& flight);
  void reclaim(Flight& flight);
  void reclaim_offloaded(Flight& flight);
  void give_back_recompute_buffer(Flight& flight);
  int take(BufferRing& ring);
  void reclaim();
  void wait_for(std::unique_ptr<comm::Transfer>& transfer);
  comm::Message message(int producer, bool gradient, int peer_chunk, int micro_batch) const;
  bool first() const { return place_ == 0; }
  bool last() const { return place_ + 1 == context_.schedule.chunks(); }

  ActionContext context_;
  Chunk& chunk_;
  int place_;
  ChunkRun* before_;
  std::vector<Flight> flights_;
  std::deque<int> reloads_;  // micro-batches that come back as soon as a slot is free, in turn
};

}  // namespace penstock::runtime
