#pragma once

#include <string>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// A line for each rank, as wide as the makespan in `width` columns (bytes): each action begins
/// with its letter (F, B input gradient, W weight gradient, G both gradients; small on a rank's
/// second and later chunks) and the micro-batch's number as far as there is room, and is filled up
/// with -, = or ~ for F, B or G, and W. Idle time is blank.
[[nodiscard]] std::string render(const Schedule& schedule, const Simulation& simulation, int width);

}  // namespace penstock::partition
