#pragma once

#include <vector>

#include "partition/schedule/run_schedule.h"

namespace penstock::test {

/// Lists that find_schedule() finds for a pipeline whose stages and passes cost unlike much, so
/// that they are none of the named schedules: for `own` micro-batches of a replica in the order
/// `sizes`, which may be empty.
partition::RunSchedule found_lists(int stages, int own, const std::vector<int>& sizes);

}  // namespace penstock::test
