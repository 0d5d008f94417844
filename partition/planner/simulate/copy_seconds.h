#pragma once

#include <vector>

#include "partition/planner/cost/step_costs.h"

namespace penstock::partition {

/// The bytes that chunks copy between their devices and the host, and the speed of the copies.
struct ChunkCopies {
  std::vector<double> bytes;      // per chunk: bytes that its largest micro-batch keeps
  std::vector<double> bandwidth;  // per chunk's device: bytes per second, each way
};

/// Returns the seconds of an offload or a reload, as [chunk][micro-batch]. A step's largest
/// micro-batch copies all of the chunk's bytes; any other copies in proportion to the bytes that
/// leave the chunk. `begin` holds the first layer of each chunk, then the number of layers.
[[nodiscard]] std::vector<std::vector<double>> copy_seconds(const StepCosts& costs,
                                                            const std::vector<int>& begin,
                                                            const ChunkCopies& copies);

}  // namespace penstock::partition
