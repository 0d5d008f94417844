#pragma once

#include <functional>
#include <vector>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// The bytes that a micro-batch holds on a chunk from the start of its forward.
struct HeldBytes {
  double to_input_gradient = 0;   // until the input gradient ends
  double to_weight_gradient = 0;  // until the weight gradient ends
};

struct MemoryPoint {
  double time = 0;   // in seconds
  double bytes = 0;  // from this time on
};

/// Returns the bytes that micro-batches hold on each rank over time, without what is always
/// allocated. An offload moves everything that a micro-batch holds.
[[nodiscard]] std::vector<std::vector<MemoryPoint>> memory_over_time(
    const Simulation& simulation,
    const std::function<HeldBytes(int chunk, int micro_batch)>& bytes_of);

/// Returns the maximum of each rank.
[[nodiscard]] std::vector<double> peaks(const std::vector<std::vector<MemoryPoint>>& memory);

/// Returns, for each rank, the maximum number of pairs of chunk and micro-batch in flight. A pair
/// is in flight from the start of its forward to the end of its weight gradient. Without backward
/// it is in flight during its forward.
[[nodiscard]] std::vector<int> peak_activations(const Schedule& schedule);

}  // namespace penstock::partition
