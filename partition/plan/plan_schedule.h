#pragma once

#include <string_view>

#include "partition/plan/plan.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {

/// The schedule of a plan's steps: of its name, or its own action lists. ConfigError where those
/// can't be read or are not sound.
RunSchedule schedule_of(const Plan& plan);

/// Micro-batches of a whole step that the plan's busiest replica runs.
[[nodiscard]] int micro_batches_per_replica(const Plan& plan);

/// The lists that rows of a plan file say, as `name`. ConfigError names the row that can't be read.
Schedule lists_of(const std::vector<std::string>& actions, std::string_view name = kFound);

/// Such rows.
[[nodiscard]] std::vector<std::string> rows_of(const Schedule& schedule);

}  // namespace penstock::partition
