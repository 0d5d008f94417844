#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Checks that each needed action appears exactly once, in the list of the rank that holds its
/// chunk. It must come after the actions of the same rank on which it depends. No other action may
/// appear. Throws UnsoundSchedule for the first fault.
void check_complete(const Schedule& schedule);

}  // namespace penstock::partition
