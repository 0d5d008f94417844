#include "partition/planner/simulate/messages.h"

#include "partition/planner/simulate/event_simulator.h"

namespace penstock::partition {

std::vector<TimedMessage> simulated_messages(const Schedule& schedule, const Durations& durations,
                                             Barrier barrier) {
  EventSimulator clockwork(schedule, durations, barrier);
  clockwork.run();
  return clockwork.messages();
}

}  // namespace penstock::partition
