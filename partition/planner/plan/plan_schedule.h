#pragma once

#include <string_view>

#include "partition/planner/plan/plan.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {

/// Returns the schedule of a plan's steps: the one it names, or its own action lists. Throws
/// ConfigError if the lists cannot be read or are not sound.
RunSchedule schedule_of(const Plan& plan);

/// Returns the number of micro-batches that the plan's busiest replica runs in a full step.
[[nodiscard]] int micro_batches_per_replica(const Plan& plan);

/// Parses the `actions` rows of a plan file into a schedule called `name`. Throws ConfigError,
/// which names the row, if a row cannot be read.
Schedule lists_of(const std::vector<std::string>& actions, std::string_view name = kFound);

/// Formats a schedule as `actions` rows.
[[nodiscard]] std::vector<std::string> rows_of(const Schedule& schedule);

}  // namespace penstock::partition
