#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "partition/schedule/schedule.h"
#include "runtime/pipeline/chunk.h"

namespace penstock::runtime {

enum class Moment { begins, ends };

/// What the executor asks of its surroundings; an empty function is not called.
struct ExecutorCallbacks {
  ReadFeatures read_features;  // first chunk
  /// Evaluation, last chunk: logits of a micro-batch, before they are overwritten.
  std::function<void(const MicroBatchWork&, const layers::Frames& logits)> logits;
  /// Training: once, before the first action that adds to the stage's gradients, which are still
  /// those of the step before.
  std::function<void()> gradients_begin;
  /// Training: the gradients of a layer, counted over the stage's, have got the share of all this
  /// replica's micro-batches. Called for every layer of a chunk before its action `reduce`.
  std::function<void(std::size_t layer)> layer_whole;
  /// Before and behind every action of the list, waiting included.
  std::function<void(const partition::Action&, Moment)> action;
};

/// Runs one rank's list of actions: computes, and moves activations and gradients to and from the
/// ranks of its pipeline. A wait makes the communicator progress; an error names the message.
class Executor {
 public:
  /// `chunks[i]` is this rank's, number `places[i]` of the layer sequence; places rise.
  Executor(comm::Communicator& pipeline, std::vector<Chunk*> chunks, std::vector<int> places)
      : pipeline_(pipeline), chunks_(std::move(chunks)), places_(std::move(places)) {}

  /// Runs `schedule` for `step`. Buffers grow where this step needs more than there is. `sums` has
  /// room for all micro-batches; much of what it gets may still be under way.
  void run(const partition::Schedule& schedule, const StepWork& step, layers::Mode mode,
           const ExecutorCallbacks& callbacks, StepSums& sums);

 private:
  comm::Communicator& pipeline_;
  std::vector<Chunk*> chunks_;
  std::vector<int> places_;
};

}  // namespace penstock::runtime
