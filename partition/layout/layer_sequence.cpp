#include "partition/layout/layer_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"

namespace penstock::partition {

layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes,
                                      std::span<const std::int64_t> labels) {
  return {sizes.compute,
          {{{lengths.begin(), lengths.end()}, sequence.features}},
          {labels.begin(), labels.end()}};
}

std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes,
                                           std::span<const std::int64_t> labels) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes, labels);
  std::vector<layers::LayerPlan> plans;
  for (const auto& layer : sequence.layers) {
    plans.push_back(layer->plan(input, sizes));
    input = layers::next_input(input, plans.back());
  }
  return plans;
}

std::vector<layers::LayerPlan> plan_without_frames(const LayerSequence& sequence,
                                                   const layers::BackendSizes& sizes) {
  return plan_layers(sequence, {}, sizes);
}

int first_label_reader(std::span<const layers::LayerPlan> plans) {
  return static_cast<int>(std::ranges::find_if(plans, &layers::LayerPlan::needs_targets) -
                          plans.begin());
}

// The search doubles the frames until the model takes them, then bisects. It relies on this: a
// model that takes n frames takes n + 1.
namespace {

bool takes(const LayerSequence& sequence, std::int64_t frames) try {
  return output_frames(sequence, std::vector<std::int64_t>{frames}).front() > 0;
} catch (const ShapeError&) {
  return false;
}

}  // namespace

std::int64_t accepted_frames(const LayerSequence& sequence, std::int64_t frames) {
  while (frames > 1 && !takes(sequence, 2 * frames)) frames /= 2;
  return frames;
}

std::int64_t min_frames(const LayerSequence& sequence) {
  constexpr std::int64_t kMax = std::int64_t{1} << 26;
  std::int64_t enough = 1;
  while (!takes(sequence, enough)) {
    if (enough == kMax)
      throw ShapeError(fmt::format("the model takes no utterance of {} frames or fewer", kMax));
    enough *= 2;
  }
  // Bisection: `too_few` frames are not accepted, `enough` are.
  std::int64_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::int64_t middle = (enough + too_few) / 2;
    if (takes(sequence, middle))
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

layers::ActivationDecl activation_before_text(const LayerSequence& sequence,
                                              std::span<const std::int64_t> lengths,
                                              const layers::BackendSizes& sizes) {
  const std::vector<std::int64_t> none(lengths.size());
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes, none);
  for (const auto& layer : sequence.layers) {
    const layers::LayerPlan plan = layer->plan(input, sizes);
    input = layers::next_input(input, plan);
    if (plan.needs_targets) break;
  }
  return input;
}

std::vector<std::int64_t> rows_before_text(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes) {
  return activation_before_text(sequence, lengths, sizes).frames.back().lengths;
}

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

// Strides make runs of neighbouring lengths with the same result. The map has such runs by their
// last known length, so a length between two known ones of equal result needs no planning.
std::int64_t OutputFrames::of(std::int64_t frames) {
  const auto upper = known_.lower_bound(frames);
  if (upper != known_.end() && upper->second.min <= frames) return upper->second.left;
  const std::int64_t left = output_frames(sequence_, std::vector<std::int64_t>{frames}).front();
  if (upper != known_.end() && upper->second.left == left) {
    upper->second.min = frames;
    return left;
  }
  Alike alike{frames, left};
  if (upper != known_.begin() && std::prev(upper)->second.left == left) {
    alike.min = std::prev(upper)->second.min;
    known_.erase(std::prev(upper));
  }
  known_.emplace(frames, alike);
  return left;
}

}  // namespace penstock::partition
