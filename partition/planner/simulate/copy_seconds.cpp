#include "partition/planner/simulate/copy_seconds.h"

#include <algorithm>

namespace penstock::partition {

// Kept activations grow with frames as the output does, so the output's bytes give the share of a
// smaller micro-batch. Without any output bytes all are taken as equal.
std::vector<std::vector<double>> copy_seconds(const StepCosts& costs, const std::vector<int>& begin,
                                              const ChunkCopies& copies) {
  std::vector<std::vector<double>> seconds;
  for (std::size_t chunk = 0; chunk < copies.bytes.size(); ++chunk) {
    const auto last = static_cast<std::size_t>(begin[chunk + 1] - 1);
    std::vector<double>& of_chunk = seconds.emplace_back();
    double max = 0;
    for (const auto& of_layers : costs.bytes) max = std::max(max, of_layers[last]);
    for (const auto& of_layers : costs.bytes) {
      const double share = max > 0 ? of_layers[last] / max : 1;
      of_chunk.push_back(share * copies.bytes[chunk] / copies.bandwidth[chunk]);
    }
  }
  return seconds;
}

}  // namespace penstock::partition
