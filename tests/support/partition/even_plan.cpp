#include "tests/support/partition/even_plan.h"

#include <algorithm>
#include <vector>

namespace penstock::test {
namespace {

double parameters_of(const layers::LayerPlan& layer) {
  double count = 0;
  for (const layers::ParamDecl& p : layer.params)
    count += static_cast<double>(layers::element_count(p.shape));
  return count;
}

/// The stage of each layer, by how many parameters stand before its middle; no stage is left out.
std::vector<int> stages_of(const std::vector<layers::LayerPlan>& layers, int stages) {
  double total = 0, before = 0;
  for (const layers::LayerPlan& layer : layers) total += parameters_of(layer);
  std::vector<int> found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double own = parameters_of(layers[i]);
    const int wanted = static_cast<int>((before + own / 2) / total * stages);
    const int left = static_cast<int>(layers.size() - i);  // layers, this one included
    const int last = found.empty() ? -1 : found.back();
    found.push_back(
        std::clamp(wanted, std::max({0, last, stages - left}), std::min(last + 1, stages - 1)));
    before += own;
  }
  return found;
}

}  // namespace

partition::Plan even_plan(const partition::LayerSequence& sequence, int stages, int replicas) {
  partition::Plan plan;
  plan.micro_batches = stages * replicas;
  plan.lanes = replicas;
  plan.ranks = partition::neighbouring_stages(stages, replicas);
  const std::vector<int> stage_of = stages_of(partition::plan_without_frames(sequence, {}), stages);
  for (int layer = 0; layer < sequence.size(); ++layer) {
    if (plan.chunks.empty() || plan.chunks.back().stage != stage_of[layer])
      plan.chunks.push_back({.stage = stage_of[layer], .first = layer});
    plan.chunks.back().layers.push_back(sequence.layers[layer]->name());
  }
  return plan;
}

}  // namespace penstock::test
