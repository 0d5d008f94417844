#pragma once

#include <string>
#include <tuple>

#include "base/known.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// What make_schedule() makes, once for each name and size, for any thread.
class KnownSchedules {
 public:
  /// As make_schedule(), with its errors. Stays where it is as long as this lives.
  const Schedule& of(const std::string& name, int stages, int micro_batches);

 private:
  Known<std::tuple<std::string, int, int>, Schedule> made_;
};

}  // namespace penstock::partition
