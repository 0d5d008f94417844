#include "partition/layout/layer_sequence.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace penstock::partition {

layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes) {
  return {sizes.compute, {{{lengths.begin(), lengths.end()}, sequence.features}}};
}

std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes);
  std::vector<layers::LayerPlan> plans;
  for (const auto& layer : sequence.layers) {
    plans.push_back(layer->plan(input, sizes));
    input = plans.back().output;
  }
  return plans;
}

std::vector<layers::LayerPlan> plan_without_frames(const LayerSequence& sequence,
                                                   const layers::BackendSizes& sizes) {
  return plan_layers(sequence, {}, sizes);
}

std::int64_t min_frames(const LayerSequence& sequence) {
  constexpr std::int64_t kMax = std::int64_t{1} << 26;
  const auto takes = [&](std::int64_t frames) {
    try {
      return output_frames(sequence, std::vector<std::int64_t>{frames}).front() > 0;
    } catch (const ShapeError&) {
      return false;
    }
  };
  std::int64_t enough = 1;
  while (!takes(enough)) {
    if (enough == kMax)
      throw ShapeError(fmt::format("the model takes no utterance of {} frames or fewer", kMax));
    enough *= 2;
  }
  // Bisection: `too_few` frames are not accepted, `enough` are.
  std::int64_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::int64_t middle = (enough + too_few) / 2;
    if (takes(middle))
      enough = middle;
    else
      too_few = middle;
  }
  return enough;
}

std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, {});
  for (const auto& layer : sequence.layers) {
    layers::LayerPlan plan = layer->plan(input, {});
    if (plan.needs_targets) break;
    input = std::move(plan.output);
  }
  return input.only().lengths;
}

}  // namespace penstock::partition
