#pragma once

#include <map>
#include <tuple>

#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/schedule.h"

namespace penstock::test {

using ActionKey = std::tuple<partition::ActionKind, int, int>;
ActionKey key(const partition::Action& action);

/// A step as poll() sees it.
struct PolledStep {
  std::map<ActionKey, double> begun;  // when each pass, offload and reload does
  double seconds = 0;                 // until the last pass ends
  bool is_over = false;               // else it hangs
};

/// Runs lists by looking, again and again, at what can begin by now; messages share no links. Knows
/// nothing of the simulator's events.
PolledStep poll(const partition::Schedule& schedule, const partition::Durations& durations);

}  // namespace penstock::test
