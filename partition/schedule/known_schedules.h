#pragma once

#include <string>
#include <tuple>

#include "base/known.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// KnownSchedules is a cache of make_schedule(), keyed by name and sizes. Any thread may call it.
class KnownSchedules {
 public:
  /// Returns the cached schedule, or makes it. Throws as make_schedule() does. The reference stays
  /// valid for the lifetime of the cache.
  const Schedule& of(const std::string& name, int stages, int micro_batches);

 private:
  Known<std::tuple<std::string, int, int>, Schedule> made_;
};

}  // namespace penstock::partition
