#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "configs/config.h"
#include "runtime/data/augment/draw_numbers.h"

namespace penstock::runtime {

/// A warp in time moves the frame `from` to `to`.
struct TimeWarp {
  std::int64_t from = 0, to = 0;
  bool operator==(const TimeWarp&) const = default;
};

/// Channels or frames that become 0.
struct FeatureMask {
  std::int64_t first = 0, count = 0;  // a count of 0 masks nothing
  bool operator==(const FeatureMask&) const = default;
};

/// The changes of one utterance's features, in frames and channels before features.stack.
struct FeatureEffects {
  std::optional<TimeWarp> warp = {};
  std::vector<FeatureMask> channels = {}, frames = {};
};

/// SpecAugment (Park et al. 2019): warps an utterance's features in time, and sets some channels
/// and some frames to 0, which is the mean of features but Whisper's. Shapes stay. What it does
/// depends on the seed and the draw alone, so every layout and every resumed run trains on the
/// same numbers.
class SpecAugment {
 public:
  SpecAugment(const configs::AugmentConfig& config, const configs::FeatureConfig& features,
              std::uint64_t seed);

  /// Draws the changes of an utterance that has this many frames.
  [[nodiscard]] FeatureEffects drawn(const UtteranceDraw& draw, std::int64_t frames) const;

  /// Changes the features of one utterance as drawn, in place. They are those before
  /// features.stack, which lie in the same order.
  void apply(const UtteranceDraw& draw, std::span<float> x_FC);

 private:
  void warp(const TimeWarp& warp, std::span<float> x_FC);

  configs::AugmentConfig config_;
  std::int64_t channels_;
  std::uint64_t seed_;
  std::vector<float> before_FC_;  // the features before the warp
};

/// Resamples frames of C channels to another number of them, by linear interpolation as
/// torch.nn.functional.interpolate(mode="linear", align_corners=False) does.
void interpolate_frames(std::span<const float> from_FC, std::int64_t channels,
                        std::span<float> to_FC);

}  // namespace penstock::runtime
