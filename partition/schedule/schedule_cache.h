#pragma once

#include <string>
#include <tuple>

#include "base/cache.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// ScheduleCache is a cache of make_schedule(), keyed by name and sizes. Any thread may call it.
class ScheduleCache {
 public:
  /// Returns the cached schedule, or makes it. Throws as make_schedule() does. The reference stays
  /// valid for the lifetime of the cache.
  const Schedule& of(const std::string& name, int stages, int micro_batches);

 private:
  Cache<std::tuple<std::string, int, int>, Schedule> made_;
};

}  // namespace penstock::partition
