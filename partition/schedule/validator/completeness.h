#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Every action that the layer sequence needs stands exactly once in the list of the rank that
/// holds its chunk, after what it needs of the same rank, and no other action does. ConfigError
/// names the first fault.
void check_complete(const Schedule& schedule);

}  // namespace penstock::partition
