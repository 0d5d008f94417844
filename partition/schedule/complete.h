#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Each chunk is reduced behind its last weight gradient, and every rank ends with the step; of
/// a schedule that is forward only, nothing changes.
Schedule with_ends(Schedule schedule);

/// Lists of computation alone made whole: with ends and transfers. Receives are posted late where
/// that can't hang, else when they are sent. Lists that are not sound stay so: see validate().
Schedule complete(Schedule computation);

/// Stage s is chunk s on rank s and computes what `list(s)` says.
Schedule in_line(std::string name, int stages, int micro_batches,
                 const std::function<std::vector<Action>(int stage)>& list);

}  // namespace penstock::partition
