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

/// The arguments with which one action list is run.
struct ActionContext {
  comm::Communicator& pipeline;
  const partition::Schedule& schedule;
  const StepWork& step;
  layers::Mode mode;
  const ExecutorCallbacks& callbacks;
  StepSums& sums;                // results of the stage
  std::function<void()> reload;  // starts every reload, of any chunk, that a slot is free for
};

/// One chunk during one action list, with the buffers and transfers of its micro-batches.
class ChunkRun {
 public:
  /// `before` is the preceding chunk of the layer sequence if this rank holds that too. Messages
  /// between the two are copied, not sent.
  ChunkRun(const ActionContext& context, Chunk& chunk, int place, ChunkRun* before);

  void perform(const partition::Action& action);
  /// Starts the reloads that are queued and that a slot is free for. A reload never blocks its
  /// rank: it waits in a queue while the rank computes.
  void start_reloads();
  /// Hands losses and unfinished sends over to the sums. Stage::complete() waits for the sends.
  void leave();

 private:
  /// A micro-batch on the chunk, with its messages in flight.
  struct Flight : MicroBatchRun {
    std::unique_ptr<comm::Transfer> activation_in, activation_out, gradient_in, gradient_out;
    bool gradient_sent = false;  // being sent, or sent already
    std::unique_ptr<layers::Event> offloaded, reloaded;
    bool ended = false;  // only its sends still need its buffers
  };

  void forward(Flight& flight, int micro_batch);
  void take_recompute_buffer(Flight& flight);
  void offload(Flight& flight);
  void await_reload(Flight& flight);
  void take_input(Flight& flight, int micro_batch);
  Chunk::Fill features_of(int micro_batch) const;
  void prefetch_next(int micro_batch);
  void backward(Flight& flight, const partition::Action& action);
  void pass_back(Flight& flight, int micro_batch);
  void start_backward(Flight& flight);
  void end_backward(Flight& flight);
  void reclaim(Flight& flight);
  void reclaim_offloaded(Flight& flight);
  void give_back_recompute_buffer(Flight& flight);
  int take(BufferRing& ring);
  void reclaim();
  void wait_for(std::unique_ptr<comm::Transfer>& transfer, int peer_chunk);
  comm::Message message(int producer, bool gradient, int peer_chunk, int micro_batch) const;
  bool first() const { return place_ == 0; }
  bool last() const { return place_ + 1 == context_.schedule.chunks(); }

  ActionContext context_;
  Chunk& chunk_;
  int place_;
  ChunkRun* before_;
  std::vector<Flight> flights_;
  std::deque<int> reloads_;  // queue of micro-batches that are reloaded when a slot is free
};

}  // namespace penstock::runtime
