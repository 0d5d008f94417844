#pragma once

#include <map>

#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/message_queues.h"

namespace penstock::partition {

/// Runs the lists without computing, and throws UnsoundSchedule if ranks wait for each other. A
/// send ends when its receive is posted, and posting does not wait. A forward or a backward waits
/// for its message, and a step for all ranks. One order of running proves all orders, because no
/// rank takes anything away for which another waits.
void check_progress(const Schedule& schedule, const std::map<Edge, MessageQueue>& queues);

}  // namespace penstock::partition
