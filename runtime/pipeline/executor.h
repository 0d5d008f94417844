#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "partition/schedule/schedule.h"
#include "runtime/pipeline/chunk.h"

namespace penstock::runtime {

enum class Moment { begins, ends };

/// Callbacks of the executor. An empty function is not called.
struct ExecutorCallbacks {
  ReadFeatures read_features;  // called for the first chunk only
  /// Evaluation, last chunk: receives the logits of a micro-batch before they are overwritten: the
  /// first matrix that enters the last layer, or the last one if `text` is set.
  std::function<void(const MicroBatchWork&, const layers::Frames& logits)> logits;
  bool text = false;
  /// Evaluation, last chunk: receives the first matrix in any case, before `logits` is called.
  std::function<void(const MicroBatchWork&, const layers::Frames& frames)> frames;
  /// Evaluation: layers keep keys and values of micro-batch m in buffer m of their chunk's caches.
  bool caches = false;
  /// Training: called once, before the first action that adds to the stage's gradients. Until then
  /// they are those of the previous step.
  std::function<void()> gradients_begin;
  /// Training: called when all micro-batches of this replica have been added to a layer's
  /// gradients. `layer` is counted over the stage's layers. Every layer of a chunk is reported
  /// before the chunk's action `reduce`.
  std::function<void(std::size_t layer)> layer_complete;
  /// Called before and after every action of the list; waiting is part of the action.
  std::function<void(const partition::Action&, Moment)> action;
  /// Called when an action begins and ends to wait for a message of another stage. It is not called
  /// if the message is there already.
  std::function<void(int stage, Moment)> wait;
};

/// Runs one rank's list of actions. It computes, and sends and receives activations and gradients
/// within the rank's pipeline. While it waits, it makes the communicator progress. An error names
/// the message.
class Executor {
 public:
  /// `chunks[i]` is held by this rank and is chunk `places[i]` of the layer sequence. `places` must
  /// be ascending.
  Executor(comm::Communicator& pipeline, std::vector<Chunk*> chunks, std::vector<int> places)
      : pipeline_(pipeline), chunks_(std::move(chunks)), places_(std::move(places)) {}

  /// Runs `schedule` for `step`. Buffers grow if this step needs more memory than they have. `sums`
  /// must have entries for all micro-batches. Some of its results may still be in flight on return.
  void run(const partition::Schedule& schedule, const StepWork& step, layers::Mode mode,
           const ExecutorCallbacks& callbacks, StepSums& sums);

 private:
  comm::Communicator& pipeline_;
  std::vector<Chunk*> chunks_;
  std::vector<int> places_;
};

}  // namespace penstock::runtime
