#include "runtime/profiling/each_kind_once.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "partition/model/trained_model.h"
#include "runtime/pipeline/session.h"

namespace penstock::runtime {
namespace {

/// What a layer's costs follow from, in words.
std::string declared(const layers::LayerPlan& plan) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {}|", static_cast<int>(plan.work), plan.flops.forward,
                  plan.flops.backward_input, plan.flops.backward_weight, plan.sums,
                  plan.runs_backward(), plan.workspace.forward);
  for (const layers::FramesDecl& frames : plan.output.frames)
    text += fmt::format("{};", frames.channels);
  for (const layers::ParamDecl& param : plan.params)
    text +=
        fmt::format("{} {} {};", fmt::join(param.shape, " "), param.full_precision, param.frozen());
  for (const layers::SavedDecl& saved : plan.saved)
    text += fmt::format("{} {} {};", static_cast<int>(saved.kind), static_cast<int>(saved.dtype),
                        fmt::join(saved.shape, " "));
  return text;
}

std::vector<std::string> declared(const partition::LayerSequence& sequence,
                                  const layers::BackendSizes& sizes) {
  const std::int64_t fewest = partition::fewest_frames(sequence);
  const std::array<std::int64_t, 2> lengths{5 * fewest + 811, 3 * fewest + 397};
  std::vector<std::string> texts;
  std::string input;  // of the layer: its output alone does not tell what enters it
  for (const layers::LayerPlan& plan : partition::plan_layers(sequence, lengths, sizes)) {
    texts.push_back(input + declared(plan));
    input.clear();
    for (const layers::FramesDecl& frames : plan.output.frames)
      input += fmt::format("{} ", fmt::join(frames.shape(), " "));
  }
  return texts;
}

/// The model with so many blocks; nothing where the recipe can't be of that.
std::optional<EachKindOnce> with_layers(configs::Config config, int labels, int layers) {
  const auto key = configs::find_key(config, "model.layers");
  if (!key || configs::set_value(*key, fmt::format("{}", layers))) return std::nullopt;
  try {
    partition::LayerSequence sequence = partition::build_trained_model(config, labels);
    return EachKindOnce{std::move(config), std::move(sequence), {}};
  } catch (const ConfigError&) {
    return std::nullopt;  // a pattern of parameters may name a block that is gone
  }
}

}  // namespace

std::optional<EachKindOnce> each_kind_once(const configs::Config& config, int labels,
                                           const partition::LayerSequence& sequence) {
  const layers::BackendSizes sizes = backend_sizes(config);
  const auto all = declared(sequence, sizes);
  for (int layers = 1;; ++layers) {
    auto fewer = with_layers(config, labels, layers);
    if (!fewer && layers >= sequence.size()) return std::nullopt;
    if (!fewer) continue;
    if (fewer->sequence.size() >= sequence.size()) return std::nullopt;
    const auto kinds = declared(fewer->sequence, sizes);
    for (const std::string& layer : all)
      fewer->like.push_back(static_cast<int>(std::ranges::find(kinds, layer) - kinds.begin()));
    if (std::ranges::max(fewer->like) < std::ssize(kinds)) return fewer;
  }
}

}  // namespace penstock::runtime
