#include "partition/schedule/known_schedules.h"

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

const Schedule& KnownSchedules::of(const std::string& name, int stages, int micro_batches) {
  const std::tuple key{name, stages, micro_batches};
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  return made_.emplace(key, make_schedule(name, stages, micro_batches)).first->second;
}

}  // namespace penstock::partition
