#include "runtime/data/augment/spec_augment.h"

#include <algorithm>

#include "runtime/data/audio/features.h"

// For an utterance of T frames and C channels, in this order:
//
//   warp    a frame c of [W, T - W) moves to c' of (c - W, c + W]. The frames before it become
//           c' frames, those after it T - c'. Utterances of at most 2 W frames stay.
//   masks   of `freq_masks` bands of 0 to `freq_width` channels, and of `time_masks` spans of 0
//           to min(`time_width`, `time_share` · T) frames, each anywhere, all numbers become 0.
//           Masks may overlap.
//
// The warp draws ESPnet's ranges. Masks reach their full width, as NeMo's do, whose time_width is
// time_share. The cost is one pass over the features for the warp, and the masked numbers.

namespace penstock::runtime {
void interpolate_frames(std::span<const float> from_FC, std::int64_t channels,
                        std::span<float> to_FC) {
  const std::int64_t from = std::ssize(from_FC) / channels, to = std::ssize(to_FC) / channels;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t frame = 0; frame < to; ++frame) {
    const double at = std::max(0.0, (static_cast<double>(frame) + 0.5) * scale - 0.5);
    const std::int64_t before = std::min(static_cast<std::int64_t>(at), from - 1);
    const std::int64_t after = std::min(before + 1, from - 1);
    const auto share = static_cast<float>(at - static_cast<double>(before));
    for (std::int64_t c = 0; c < channels; ++c) {
      const float a = from_FC[static_cast<std::size_t>(before * channels + c)];
      const float b = from_FC[static_cast<std::size_t>(after * channels + c)];
      to_FC[static_cast<std::size_t>(frame * channels + c)] = a + share * (b - a);
    }
  }
}

SpecAugment::SpecAugment(const configs::AugmentConfig& config,
                         const configs::FeatureConfig& features, std::uint64_t seed)
    : config_(config), channels_(feature_bins(features) / features.stack), seed_(seed) {}

FeatureEffects SpecAugment::drawn(const UtteranceDraw& draw, std::int64_t frames) const {
  FeatureEffects effects;
  DrawNumbers numbers(SampleKind::augment, seed_, draw);
  if (numbers.next() >= config_.share) return effects;
  const std::int64_t furthest = config_.time_warp;
  if (furthest > 0 && frames > 2 * furthest) {
    const std::int64_t center = numbers.between(furthest, frames - furthest - 1);
    effects.warp = {center, numbers.between(center - furthest + 1, center + furthest)};
  }
  const auto draw_masks = [&](int count, std::int64_t widest, std::int64_t all) {
    std::vector<FeatureMask> masks;
    for (int mask = 0; mask < count; ++mask) {
      const std::int64_t width = numbers.between(0, widest);
      masks.push_back({numbers.between(0, all - width), width});
    }
    return masks;
  };
  effects.channels = draw_masks(config_.freq_masks,
                                std::min<std::int64_t>(config_.freq_width, channels_), channels_);
  const auto longest = static_cast<std::int64_t>(config_.time_share * static_cast<double>(frames));
  effects.frames =
      draw_masks(config_.time_masks, std::min<std::int64_t>(config_.time_width, longest), frames);
  return effects;
}

void SpecAugment::apply(const UtteranceDraw& draw, std::span<float> x_FC) {
  const std::int64_t frames = std::ssize(x_FC) / channels_;
  const FeatureEffects effects = drawn(draw, frames);
  if (effects.warp) warp(*effects.warp, x_FC);
  for (const FeatureMask& mask : effects.channels)
    for (std::int64_t frame = 0; frame < frames; ++frame)
      std::ranges::fill(x_FC.subspan(static_cast<std::size_t>(frame * channels_ + mask.first),
                                     static_cast<std::size_t>(mask.count)),
                        0.0f);
  for (const FeatureMask& mask : effects.frames)
    std::ranges::fill(x_FC.subspan(static_cast<std::size_t>(mask.first * channels_),
                                   static_cast<std::size_t>(mask.count * channels_)),
                      0.0f);
}

void SpecAugment::warp(const TimeWarp& warp, std::span<float> x_FC) {
  before_FC_.assign(x_FC.begin(), x_FC.end());
  const std::span<const float> all(before_FC_);
  const auto from = static_cast<std::size_t>(warp.from * channels_);
  const auto to = static_cast<std::size_t>(warp.to * channels_);
  interpolate_frames(all.first(from), channels_, x_FC.first(to));
  interpolate_frames(all.subspan(from), channels_, x_FC.subspan(to));
}

}  // namespace penstock::runtime
