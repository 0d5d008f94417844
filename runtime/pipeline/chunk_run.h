#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "partition/schedule.h"
#include "runtime/pipeline/chunk.h"
#include "runtime/pipeline/executor.h"

namespace penstock {

/// What one action list is run with.
struct RunContext {
  Communicator& pipeline;
  const Schedule& schedule;
  const StepWork& step;
  Mode mode;
  const ExecutorCallbacks& callbacks;
};

/// One chunk during one action list: its micro-batches' buffers and transfers.
class ChunkRun {
 public:
  ChunkRun(const RunContext& context, Chunk& chunk, int place);

  void perform(const Action& action);
  /// What is still being sent and computed: Stage::complete() waits for it.
  StepSums take_sums();

 private:
  /// A micro-batch on the chunk, with its messages under way.
  struct Flight : MicroBatchRun {
    std::unique_ptr<Transfer> activation_in, activation_out, gradient_in, gradient_out;
    bool gradient_sent = false;  // it is on its way, or gone
    bool ended = false;          // nothing of its slot is needed but by what it sends
  };

  void forward(Flight& flight, int micro_batch);
  void backward(Flight& flight, const Action& action);
  void start_backward(Flight& flight);
  void end_backward(Flight& flight);
  void reclaim(Flight& flight);
  int take(BufferRing& ring);
  void reclaim();
  void wait_for(std::unique_ptr<Transfer>& transfer);
  Message message(int producer, bool gradient, int peer_chunk, int micro_batch) const;
  bool first() const { return place_ == 0; }
  bool last() const { return place_ + 1 == context_.schedule.chunks(); }

  RunContext context_;
  Chunk& chunk_;
  int place_;
  std::vector<Flight> flights_;
  StepSums sums_;
};

}  // namespace penstock
