#pragma once

#include <functional>
#include <vector>

#include "partition/schedule/edge.h"
#include "partition/schedule/schedule.h"
#include "partition/simulate/network.h"

namespace penstock::partition {

/// Seconds that things take.
struct Durations {
  /// Of forward, backward, its parts, offload, reload, reduce and, unless `step` says it, step.
  std::function<double(const Action&)> compute;
  /// Of a rank's step.
  std::function<double(int rank)> step = {};
  /// Of a message under way, whatever else is. Empty: none takes time.
  std::function<double(const Edge&, int micro_batch)> transfer = {};
  /// Links that messages share; `transfer` is not asked then.
  const Network* network = nullptr;
};

/// Seconds of each pass of one micro-batch through a chunk.
struct ChunkTimes {
  double forward = 0, backward_input = 0, backward_weight = 0;
  double total() const { return forward + backward_input + backward_weight; }
  double of(ActionKind kind) const;  // 0 of what is no pass
};

/// The same for every micro-batch; reduce, step and messages take no time.
[[nodiscard]] Durations equal_micro_batches(std::vector<ChunkTimes> chunks);

/// times[chunk][micro-batch]; reduce, step and messages take no time.
[[nodiscard]] Durations unequal_micro_batches(std::vector<std::vector<ChunkTimes>> times);

struct TimedAction {
  Action action;
  double start = 0, end = 0;  // seconds
};

struct Simulation {
  double makespan = 0;  // from the first start to the last end on any rank
  /// In the order of the lists, without transfers and what moves between device and host.
  std::vector<std::vector<TimedAction>> ranks;
  /// Between device and host, in the order in which they begin.
  std::vector<std::vector<TimedAction>> copies = {};

  /// Of each rank, as papers on schedules count: the longest time that any rank computes from its
  /// first start to its last end, less what this rank computes.
  std::vector<double> bubbles() const;
};

/// Whether ranks step together, or each as soon as its own gradients are whole (and roll back
/// where a late result on the norm is bad).
enum class Barrier { before_step, none };

/// Runs a sound schedule (see validate) with durations. Ranks go through their lists. A message
/// starts when it is sent and its receive is posted; nobody waits for it but the computation that
/// takes it, and its sender for the share that is not overlapped (see Network). Offloads of a rank
/// follow each other beside its computing, and so do reloads; each reload waits for one of the
/// chunk's slots, of which there are as many as the lists need, a forward too, and a backward for
/// its reload. Reductions of a
/// rank follow each other beside its computing; its step waits for them. Event-driven: time
/// O(a log a) for a actions, and O(f) more for each message that shares links with f others.
Simulation simulate(const Schedule& schedule, const Durations& durations,
                    Barrier barrier = Barrier::before_step);

/// Seconds that one step takes where many follow each other without a pause.
[[nodiscard]] double step_period(const Schedule& schedule, const Durations& durations,
                                 Barrier barrier);

/// How many times faster the pipeline is than one rank that does the same work: the most that the
/// cut (`chunks`) and the bubble of the schedule allow.
[[nodiscard]] double speedup_bound(const Schedule& schedule, const std::vector<ChunkTimes>& chunks);

}  // namespace penstock::partition
