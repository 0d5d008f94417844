#include "partition/simulate/messages.h"

#include "partition/simulate/clockwork.h"

namespace penstock::partition {

std::vector<TimedMessage> simulated_messages(const Schedule& schedule, const Durations& durations,
                                             Barrier barrier) {
  Clockwork clockwork(schedule, durations, barrier);
  clockwork.run();
  return clockwork.messages();
}

}  // namespace penstock::partition
