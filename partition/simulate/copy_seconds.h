#pragma once

#include <vector>

#include "partition/cost/step_costs.h"

namespace penstock::partition {

/// What chunks move between their devices and the host.
struct ChunkCopies {
  std::vector<double> bytes;      // of each chunk: what its largest micro-batch keeps
  std::vector<double> bandwidth;  // of each chunk's device: bytes a second, either way
};

/// [chunk][micro-batch]: seconds of an offload or a reload. A step's largest micro-batch moves all
/// of those bytes, another the share that leaves the chunk of it. `begin` has the first layer of
/// each chunk, then the number of layers.
[[nodiscard]] std::vector<std::vector<double>> copy_seconds(const StepCosts& costs,
                                                            const std::vector<int>& begin,
                                                            const ChunkCopies& copies);

}  // namespace penstock::partition
