#pragma once

#include <functional>
#include <vector>

#include "partition/edge.h"
#include "partition/schedule.h"

namespace penstock {

/// Seconds that things take.
struct Durations {
  /// Of forward, backward, its parts, reduce and step.
  std::function<double(const Action&)> compute;
  /// Of a message under way. Empty: none takes time.
  std::function<double(const Edge&, int micro_batch)> transfer = {};
};

/// Seconds of each pass of one micro-batch through a chunk.
struct ChunkTimes {
  double forward = 0, backward_input = 0, backward_weight = 0;
  double total() const { return forward + backward_input + backward_weight; }
};

/// The same for every micro-batch; reduce, step and messages take no time.
Durations equal_micro_batches(std::vector<ChunkTimes> chunks);

struct TimedAction {
  Action action;
  double start = 0, end = 0;  // seconds
};

struct Simulation {
  double makespan = 0;                          // from the first start to the last end on any rank
  std::vector<std::vector<TimedAction>> ranks;  // in the order of the lists, without transfers
};

/// Runs a sound schedule (see validate) with durations: ranks go through their lists; a message
/// starts when it is sent and its receive is posted, and holds up nobody but the computation that
/// waits for it; a step begins on all ranks at once.
Simulation simulate(const Schedule& schedule, const Durations& durations);

/// How many times faster the pipeline is than one rank that does the same work: the most that the
/// cut (`chunks`) and the bubble of the schedule allow.
double speedup_bound(const Schedule& schedule, const std::vector<ChunkTimes>& chunks);

}  // namespace penstock
