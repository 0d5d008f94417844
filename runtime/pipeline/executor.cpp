#include "runtime/pipeline/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "runtime/pipeline/chunk_run.h"

namespace penstock::runtime {

// Performs the actions in the order of the list. Between actions it makes messages progress and
// starts reloads for which a slot has become free. The runs lie in a deque, since each points to
// the one before it. An action that waits calls `reload` itself, so that the reloads of all chunks
// start even while one of them waits. Updating the parameters is no part of the list's run: ranks
// must first agree on the gradient's norm.
void Executor::run(const partition::Schedule& schedule, const StepWork& step, layers::Mode mode,
                   const ExecutorCallbacks& callbacks, StepSums& sums) {
  std::deque<ChunkRun> runs;
  const auto reload = [&runs] {
    for (ChunkRun& run : runs) run.start_reloads();
  };
  const ActionContext context{pipeline_, schedule, step, mode, callbacks, sums, reload};
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const bool follows = i > 0 && places_[i] == places_[i - 1] + 1;
    ChunkRun* before = follows ? &runs.back() : nullptr;
    runs.emplace_back(context, *chunks_[i], places_[i], before);
  }

  bool gradients_begun = mode != layers::Mode::train;
  for (const partition::Action& action : schedule.ranks.at(pipeline_.rank())) {
    if (action.kind == partition::ActionKind::step) break;  // left to the caller, once agreed
    if (!gradients_begun && partition::computes(action.kind) &&
        action.kind != partition::ActionKind::forward) {
      gradients_begun = true;
      if (callbacks.gradients_begin) callbacks.gradients_begin();
    }
    const auto chunk = std::find(places_.begin(), places_.end(), action.chunk);
    if (chunk == places_.end())
      throw Error(fmt::format("schedule {} gives rank {} work for chunk {}, which it does not hold",
                              schedule.name, pipeline_.rank(), action.chunk));
    if (callbacks.action) callbacks.action(action, Moment::begins);
    runs[chunk - places_.begin()].perform(action);
    if (callbacks.action) callbacks.action(action, Moment::ends);
    pipeline_.progress();
    reload();
  }
  for (ChunkRun& run : runs) run.leave();
}

}  // namespace penstock::runtime
