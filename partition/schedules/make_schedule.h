#pragma once

#include <string_view>
#include <vector>

#include "partition/schedule.h"

namespace penstock {

/// Those that make_schedule makes.
std::vector<std::string_view> schedule_names();

/// The complete action lists of a pipeline of `stages` ranks; `name` is of pipeline.schedule.
/// ConfigError for an unknown name, or for less than one stage or micro-batch.
Schedule make_schedule(std::string_view name, int stages, int micro_batches);

/// Which rank of the pipeline holds each chunk of such a schedule, however many micro-batches it
/// has. ConfigError as above.
std::vector<int> chunk_ranks(std::string_view name, int stages);

}  // namespace penstock
