#pragma once

#include <functional>
#include <vector>

#include "partition/planner/simulate/network.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The seconds of everything that a simulation runs.
struct Durations {
  /// Returns the seconds of any action that is no transfer. A step is asked for only if `step` is
  /// empty.
  std::function<double(const Action&)> compute;
  /// Returns the seconds of a rank's step.
  std::function<double(int rank)> step = {};
  /// Returns the seconds of a message, independent of other messages. Empty means that messages
  /// take no time.
  std::function<double(const Edge&, int micro_batch)> transfer = {};
  /// Links that messages share. If set, `transfer` is not used.
  const Network* network = nullptr;
};

/// The seconds of each pass of one micro-batch through a chunk.
struct ChunkTimes {
  double forward = 0, backward_input = 0, backward_weight = 0;
  double total() const { return forward + backward_input + backward_weight; }
  double of(ActionKind kind) const;  // 0 if `kind` is not a pass
};

/// Returns equal durations for every micro-batch. Reduces, steps and messages take no time.
[[nodiscard]] Durations equal_micro_batches(std::vector<ChunkTimes> chunks);

/// Takes `times` as [chunk][micro-batch]. Reduces, steps and messages take no time.
[[nodiscard]] Durations unequal_micro_batches(std::vector<std::vector<ChunkTimes>> times);

struct TimedAction {
  Action action;
  double start = 0, end = 0;  // in seconds
};

struct Simulation {
  double makespan = 0;  // from the first start to the last end on any rank
  /// Per rank, in the order of the lists; without transfers, offloads and reloads.
  std::vector<std::vector<TimedAction>> ranks;
  /// Per rank: offloads and reloads, in the order in which they begin.
  std::vector<std::vector<TimedAction>> copies = {};

  /// Returns the bubble of each rank, as papers on schedules define it. This is the longest time
  /// from first to last computation of any rank, less the time that this rank computes.
  std::vector<double> bubbles() const;
};

/// Says if all ranks step together, or if each steps as soon as its own gradients are complete. In
/// the second case it rolls back if the late gradient norm demands it.
enum class Barrier { before_step, none };

/// Simulates a sound schedule (see validate()) with the given durations. Each rank runs its list in
/// order:
/// - A message starts when it is sent and its receive is posted. Only the computation that consumes
///   it waits for it, and the sender for the share that does not overlap (see Network).
/// - The offloads of a rank follow each other, beside its computing, and so do its reloads. A chunk
///   has as many slots as its lists need. A forward and a reload wait for a free slot, and a
///   backward for its reload.
/// - The reductions of a rank follow each other, beside its computing. The rank's step waits for
///   them.
///
/// The simulator is event-driven. It takes O(a log a) for a actions, and O(f) more for each message
/// that shares links with f others.
Simulation simulate(const Schedule& schedule, const Durations& durations,
                    Barrier barrier = Barrier::before_step);

/// Returns the seconds of one step in a long sequence of steps without pause.
[[nodiscard]] double step_period(const Schedule& schedule, const Durations& durations,
                                 Barrier barrier);

/// Returns an upper bound for the speedup of the pipeline over one rank that does the same work. It
/// accounts for the cut (`chunks`) and for the bubble of the schedule.
[[nodiscard]] double speedup_bound(const Schedule& schedule, const std::vector<ChunkTimes>& chunks);

/// A message of a simulation, with times in seconds since its start.
struct TimedMessage {
  Edge edge;
  int micro_batch = 0;
  int from = 0, to = 0;  // ranks
  double sent = 0;       // the sender reaches the send
  double freed = 0;      // the sender goes on, once the part without overlap is over
  double start = 0;      // the receive is posted too, and the transfer starts
  double end = 0;        // the message has arrived
};

/// Returns the messages of simulate() with the same arguments, in the order in which they start.
[[nodiscard]] std::vector<TimedMessage> simulated_messages(const Schedule& schedule,
                                                           const Durations& durations,
                                                           Barrier barrier = Barrier::before_step);

}  // namespace penstock::partition
