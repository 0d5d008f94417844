#pragma once

#include <map>
#include <vector>

#include "partition/schedule/edge.h"
#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {

// The validator proves two things: lists are complete, and no rank waits for ever.

/// Checks that each needed action appears exactly once, in the list of the rank that holds its
/// chunk. It must come after the actions of the same rank on which it depends. No other action may
/// appear. Throws UnsoundSchedule for the first fault.
void check_complete(const Schedule& schedule);

/// A MessageQueue holds the two ends of an edge: its i-th receive takes the message of its i-th
/// send.
struct MessageQueue {
  std::vector<Position> sends;
  std::vector<Position> receives;
};

/// Returns the queue of every edge. Throws UnsoundSchedule if a receive would take a message of
/// another micro-batch. Every send must have its receive; see check_complete().
std::map<Edge, MessageQueue> match_messages(const Schedule& schedule);

/// Runs the lists without computing, and throws UnsoundSchedule if ranks wait for each other. A
/// send ends when its receive is posted, and posting does not wait. A forward or a backward waits
/// for its message, and a step for all ranks. One order of running proves all orders, because no
/// rank takes anything away for which another waits.
void check_progress(const Schedule& schedule, const std::map<Edge, MessageQueue>& queues);

}  // namespace penstock::partition
