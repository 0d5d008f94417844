#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Appends a reduce after the last weight gradient of each chunk, and a step at the end of every
/// rank's list. A forward-only schedule is returned unchanged.
Schedule with_ends(Schedule schedule);

/// Completes lists that hold only computation: adds reduces, steps and transfers. Receives are
/// posted one computation ahead if that cannot deadlock, otherwise when their message is sent.
/// Lists that are not sound stay unsound: see validate().
Schedule complete(Schedule computation);

/// Returns a complete schedule of one chunk per rank: stage s is chunk s on rank s and computes
/// what `list(s)` holds.
Schedule in_line(std::string name, int stages, int micro_batches,
                 const std::function<std::vector<Action>(int stage)>& list);

}  // namespace penstock::partition
