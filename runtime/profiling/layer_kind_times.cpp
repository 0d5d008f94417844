#include "runtime/profiling/layer_kind_times.h"

#include <algorithm>

namespace penstock::runtime {
namespace {

/// Removes numbers from a layer's name: "blocks.3.attention" becomes "blocks.attention".
std::string without_numbers(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    if (c >= '0' && c <= '9') continue;
    if (c == '.' && kind.ends_with('.')) continue;
    kind += c;
  }
  if (kind.ends_with('.')) kind.pop_back();
  return kind;
}

/// Returns the operations of each layer, counted as in partition::training_flops(). The first layer
/// has no backward_input.
std::vector<double> flops_of_layers(const partition::LayerSequence& sequence,
                                    std::span<const std::int64_t> lengths) {
  std::vector<double> flops;
  for (const layers::LayerPlan& plan : partition::plan_layers(sequence, lengths, {}))
    flops.push_back(plan.flops.forward + plan.flops.backward_weight +
                    (flops.empty() ? 0 : plan.flops.backward_input));
  return flops;
}

}  // namespace

std::vector<LayerKindTimes> layer_kind_times(const partition::LayerSequence& sequence,
                                             std::span<const std::int64_t> lengths,
                                             std::span<const partition::LayerCost> measured,
                                             std::span<const partition::LayerCost> predicted) {
  const std::vector<double> flops = flops_of_layers(sequence, lengths);
  std::vector<LayerKindTimes> kinds;
  for (std::size_t i = 0; i < flops.size(); ++i) {
    const std::string kind = without_numbers(measured[i].layer);
    auto found = std::ranges::find(kinds, kind, &LayerKindTimes::kind);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {.kind = kind});
    ++found->layers;
    found->measured_s += measured[i].total();
    found->predicted_s += predicted[i].total();
    found->flops += flops[i];
  }
  return kinds;
}

}  // namespace penstock::runtime
