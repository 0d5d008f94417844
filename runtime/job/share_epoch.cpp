#include "runtime/job/share_epoch.h"

#include "comm/collectives.h"

namespace penstock::runtime {

void share_epoch(comm::Communicator& world, StepSequence& steps, std::int64_t epoch) {
  if (world.size() == 1) return;
  const bool leads = world.rank() == 0;
  const std::string bytes = comm::broadcast(world, leads ? steps.bytes_of(epoch) : "");
  if (!leads) steps.take(epoch, bytes);
}

}  // namespace penstock::runtime
