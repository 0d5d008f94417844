#include "runtime/profiling/layer_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "partition/layout/build_model.h"
#include "partition/layout/layer_figures.h"
#include "runtime/pipeline/session.h"

// A large model consists of few kinds of layers, each repeated many times. A model of fewer blocks
// that has every kind costs a fraction of the memory and tells all costs. For example, 24 equal
// blocks have the kinds of one block, and EachKindOnce::like maps each of their layers to its
// counterpart there.

namespace penstock::runtime {
namespace {

/// Builds the model with this many blocks. Returns nothing if the recipe does not allow that
/// number.
std::optional<EachKindOnce> with_layers(configs::Config config, int labels, int layers) {
  const auto key = configs::find_key(config, "model.layers");
  if (!key || configs::set_value(*key, fmt::format("{}", layers))) return std::nullopt;
  try {
    partition::LayerSequence sequence = partition::build_trained_model(config, labels);
    return EachKindOnce{std::move(config), std::move(sequence), {}};
  } catch (const ConfigError&) {
    return std::nullopt;  // a parameter pattern may name a block that is gone
  }
}

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
                                    const partition::MicroBatchLengths& lengths) {
  std::vector<double> flops;
  for (const layers::LayerPlan& plan :
       partition::plan_layers(sequence, lengths.frames, {}, lengths.labels))
    flops.push_back(plan.flops.forward + plan.flops.backward_weight +
                    (flops.empty() ? 0 : plan.flops.backward_input));
  return flops;
}

}  // namespace

/// Tries 1, 2, … blocks until the smaller model has a layer with the same declaration for each
/// layer of the whole model.
std::optional<EachKindOnce> each_kind_once(const configs::Config& config, int labels,
                                           const partition::LayerSequence& sequence) {
  const layers::BackendSizes sizes = backend_sizes(config);
  const auto all = partition::declared_layers(sequence, sizes);
  for (int layers = 1;; ++layers) {
    auto fewer = with_layers(config, labels, layers);
    if (!fewer && layers >= sequence.size()) return std::nullopt;
    if (!fewer) continue;
    if (fewer->sequence.size() >= sequence.size()) return std::nullopt;
    const auto kinds = partition::declared_layers(fewer->sequence, sizes);
    for (const std::string& layer : all)
      fewer->like.push_back(static_cast<int>(std::ranges::find(kinds, layer) - kinds.begin()));
    if (std::ranges::max(fewer->like) < std::ssize(kinds)) return fewer;
  }
}

std::vector<LayerKindTimes> layer_kind_times(const partition::LayerSequence& sequence,
                                             const partition::MicroBatchLengths& lengths,
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
