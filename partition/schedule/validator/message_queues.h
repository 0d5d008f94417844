#pragma once

#include <map>
#include <vector>

#include "partition/schedule/edge.h"
#include "partition/schedule/schedule.h"
#include "partition/schedule/validator/unsound.h"

namespace penstock::partition {

/// The two ends of an edge: its i-th send is taken by its i-th receive.
struct MessageQueue {
  std::vector<Position> sends;
  std::vector<Position> receives;
};

/// First in, first out: ConfigError where a receive would take another micro-batch than its own.
/// Every send must have its receive; see check_complete.
std::map<Edge, MessageQueue> match_messages(const Schedule& schedule);

}  // namespace penstock::partition
