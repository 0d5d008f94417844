#pragma once

#include <map>
#include <string>
#include <tuple>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// What make_schedule() makes, once for each name and size.
class KnownSchedules {
 public:
  /// As make_schedule(), with its errors. Stays where it is as long as this lives.
  const Schedule& of(const std::string& name, int stages, int micro_batches);

 private:
  std::map<std::tuple<std::string, int, int>, Schedule> made_;
};

}  // namespace penstock::partition
