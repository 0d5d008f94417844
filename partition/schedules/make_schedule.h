#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule.h"

namespace penstock {

/// Values of pipeline.schedule.
std::vector<std::string> schedule_names();

/// The complete action lists of a pipeline of `stages` ranks. ConfigError for an unknown name, or
/// for less than one stage or micro-batch.
Schedule make_schedule(std::string_view name, int stages, int micro_batches);

}  // namespace penstock
