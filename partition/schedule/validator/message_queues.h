#pragma once

#include <map>
#include <vector>

#include "partition/schedule/edge.h"
#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {

/// A MessageQueue holds the two ends of an edge: its i-th receive takes the message of its i-th
/// send.
struct MessageQueue {
  std::vector<Position> sends;
  std::vector<Position> receives;
};

/// Returns the queue of every edge. Throws UnsoundSchedule if a receive would take a message of
/// another micro-batch. Every send must have its receive; see check_complete().
std::map<Edge, MessageQueue> match_messages(const Schedule& schedule);

}  // namespace penstock::partition
