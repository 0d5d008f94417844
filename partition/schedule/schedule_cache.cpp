#include "partition/schedule/schedule_cache.h"

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

const Schedule& ScheduleCache::of(const std::string& name, int stages, int micro_batches) {
  return made_.of({name, stages, micro_batches},
                  [&] { return make_schedule(name, stages, micro_batches); });
}

}  // namespace penstock::partition
