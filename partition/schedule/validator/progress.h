#pragma once

#include <map>

#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/message_queues.h"

namespace penstock::partition {

/// Runs the lists without computing: a send ends when its receive is posted, posting does not wait,
/// forward and backward wait for their message, a step for all ranks. One order of running
/// speaks for all, because no rank takes anything away that another waits for. ConfigError names
/// the ranks that wait for each other.
void check_progress(const Schedule& schedule, const std::map<Edge, MessageQueue>& queues);

}  // namespace penstock::partition
