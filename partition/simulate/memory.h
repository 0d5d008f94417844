#pragma once

#include <functional>
#include <vector>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// What a micro-batch holds on a chunk from the start of its forward, in bytes.
struct HeldBytes {
  double to_input_gradient = 0;   // until that ends
  double to_weight_gradient = 0;  // until that ends
};

struct MemoryPoint {
  double time = 0;   // seconds
  double bytes = 0;  // from then on
};

/// What micro-batches hold on each rank over time, on top of what is always there. What is
/// offloaded is all that a micro-batch holds.
[[nodiscard]] std::vector<std::vector<MemoryPoint>> memory_over_time(
    const Simulation& simulation,
    const std::function<HeldBytes(int chunk, int micro_batch)>& bytes_of);

/// The most of each rank.
[[nodiscard]] std::vector<double> peaks(const std::vector<std::vector<MemoryPoint>>& memory);

/// Of each rank, the most pairs of chunk and micro-batch between the start of their forward and
/// the end of their weight gradient, or of their forward where there is no backward.
[[nodiscard]] std::vector<int> peak_activations(const Schedule& schedule);

}  // namespace penstock::partition
