#include "partition/schedule/known_schedules.h"

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

const Schedule& KnownSchedules::of(const std::string& name, int stages, int micro_batches) {
  return made_.of({name, stages, micro_batches},
                  [&] { return make_schedule(name, stages, micro_batches); });
}

}  // namespace penstock::partition
