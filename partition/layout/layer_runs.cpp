#include "partition/layout/layer_runs.h"

namespace penstock::partition {

std::vector<LayerRun> runs_of(const ChosenLayers& chosen) {
  std::vector<LayerRun> runs;
  for (int layer = 0; layer < static_cast<int>(chosen.size()); ++layer) {
    if (!chosen[layer]) continue;
    if (runs.empty() || runs.back().last < layer) runs.push_back({layer, layer});
    runs.back().last = layer + 1;
  }
  return runs;
}

ChosenLayers chosen_among(const ChosenLayers& chosen, int first, int last) {
  if (chosen.empty()) return {};
  return {chosen.begin() + first, chosen.begin() + last};
}

}  // namespace penstock::partition
