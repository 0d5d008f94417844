#include "partition/planner/simulate/chunk_times.h"

namespace penstock::partition {

std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed) {
  std::vector<ChunkTimes> times(begin.size() - 1);
  for (std::size_t i = 0; i < times.size(); ++i)
    for (int layer = begin[i]; layer < begin[i + 1]; ++layer) {
      times[i].forward += costs[layer].forward;
      times[i].backward_input += costs[layer].backward_input;
      times[i].backward_weight += costs[layer].backward_weight;
      // The activations are computed again just before the input gradient, and the weight gradient
      // reads them too.
      if (!recomputed.empty() && recomputed[layer])
        times[i].backward_input += costs[layer].recomputed();
    }
  return times;
}

}  // namespace penstock::partition
