#include "runtime/profiling/each_kind_once.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "partition/layout/layer_kinds.h"
#include "partition/layout/trained_model.h"
#include "runtime/pipeline/session.h"

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

}  // namespace penstock::runtime
