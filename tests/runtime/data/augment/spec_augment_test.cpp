#include "runtime/data/augment/spec_augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>

namespace penstock::runtime {
namespace {

/// 37 frames of 12 channels, all different and none 0.
std::vector<float> ramp() {
  std::vector<float> x_FC;
  for (int i = 1; i <= 37 * 12; ++i) x_FC.push_back(static_cast<float>(i));
  return x_FC;
}

configs::FeatureConfig mels(int stack = 1) {
  configs::FeatureConfig features;
  features.kind = "log-mel";
  features.mels = 12;
  features.stack = stack;
  return features;
}

std::vector<float> augmented(const configs::AugmentConfig& config, const UtteranceDraw& draw,
                             std::uint64_t seed = 3) {
  std::vector<float> x_FC = ramp();
  SpecAugment(config, mels(), seed).apply(draw, x_FC);
  return x_FC;
}

/// The masked channels, or frames, of augmented features: those that are 0 everywhere.
std::set<int> zeros(const std::vector<float>& x_FC, bool channels) {
  std::set<int> found;
  for (int i = 0; i < (channels ? 12 : 37); ++i) {
    bool all = true;
    for (int j = 0; j < (channels ? 37 : 12); ++j)
      all &= x_FC[static_cast<std::size_t>(channels ? j * 12 + i : i * 12 + j)] == 0;
    if (all) found.insert(i);
  }
  return found;
}

TEST(SpecAugment, ChangesNothingWithoutMasksAndWarp) {
  EXPECT_EQ(augmented({}, {1, 2}), ramp());
  EXPECT_FALSE(configs::AugmentConfig().changes_features());
}

/// Each mask is one band of at most so many channels, or span of frames; the others stay.
TEST(SpecAugment, MasksOneBandOrSpan) {
  double widths = 0;
  std::set<int> firsts;
  for (std::uint64_t id = 0; id < 300; ++id)
    for (const bool channels : {true, false}) {
      configs::AugmentConfig config{.freq_width = 5, .time_width = 9, .time_share = 0.15};
      config.freq_masks = channels ? 1 : 0;
      config.time_masks = channels ? 0 : 1;
      const std::vector<float> x_FC = augmented(config, {4, id});
      const std::set<int> masked = zeros(x_FC, channels);
      EXPECT_LE(masked.size(), 5u);  // 0.15 · 37 frames are below 6
      const auto width = static_cast<int>(masked.size());
      if (width > 0) {
        EXPECT_EQ(*masked.rbegin() - *masked.begin() + 1, width);
      }
      if (width > 0 && channels) firsts.insert(*masked.begin());
      std::vector<float> expected = ramp();
      for (int i = 0; i < 37 * 12; ++i)
        if (masked.contains(channels ? i % 12 : i / 12)) expected[static_cast<std::size_t>(i)] = 0;
      ASSERT_EQ(x_FC, expected) << id;
      widths += width;
    }
  EXPECT_NEAR(widths / 600, 2.5, 0.25);  // widths are 0 to 5, each as likely
  EXPECT_EQ(firsts.size(), 12u) << "masks begin anywhere";
}

/// The effects that are drawn are those that are applied: the warp first, then zeros in the masks
/// and nowhere else.
TEST(SpecAugment, AppliesWhatItDraws) {
  const configs::AugmentConfig config{.share = 0.8,
                                      .freq_masks = 2,
                                      .freq_width = 3,
                                      .time_masks = 2,
                                      .time_share = 0.2,
                                      .time_warp = 4};
  int warped = 0, masked = 0;
  for (std::uint64_t id = 0; id < 100; ++id) {
    const FeatureEffects effects = SpecAugment(config, mels(), 3).drawn({1, id}, 37);
    const std::vector<float> before = ramp();
    std::vector<float> expected = before;
    if (effects.warp) {
      const auto [from, to] = *effects.warp;
      EXPECT_LE(std::abs(from - to), 4);
      interpolate_frames(std::span(before).first(static_cast<std::size_t>(from * 12)), 12,
                         std::span(expected).first(static_cast<std::size_t>(to * 12)));
      interpolate_frames(std::span(before).subspan(static_cast<std::size_t>(from * 12)), 12,
                         std::span(expected).subspan(static_cast<std::size_t>(to * 12)));
      ++warped;
    }
    const auto covers = [](const std::vector<FeatureMask>& masks, std::int64_t at) {
      return std::ranges::any_of(masks, [&](const FeatureMask& mask) {
        return at >= mask.first && at < mask.first + mask.count;
      });
    };
    for (std::int64_t i = 0; i < 37 * 12; ++i)
      if (covers(effects.channels, i % 12) || covers(effects.frames, i / 12)) {
        expected[static_cast<std::size_t>(i)] = 0;
        ++masked;
      }
    EXPECT_EQ(augmented(config, {1, id}), expected) << id;
  }
  EXPECT_NEAR(warped, 80, 15);
  EXPECT_GT(masked, 1000);
}

TEST(SpecAugment, DependsOnSeedAndDrawAlone) {
  const configs::AugmentConfig config{
      .freq_masks = 2, .freq_width = 5, .time_masks = 2, .time_warp = 4};
  const std::vector<float> one = augmented(config, {1, 2, 0});
  EXPECT_EQ(augmented(config, {1, 2, 0}), one);
  EXPECT_NE(augmented(config, {2, 2, 0}), one);
  EXPECT_NE(augmented(config, {1, 3, 0}), one);
  EXPECT_NE(augmented(config, {1, 2, 1}), one);
  EXPECT_NE(augmented(config, {1, 2, 0}, 4), one);
}

TEST(SpecAugment, ChangesAShareOfTheUtterances) {
  int changed = 0;
  for (std::uint64_t id = 0; id < 1000; ++id)
    changed += augmented({.share = 0.3, .time_warp = 4}, {0, id}) != ramp();
  EXPECT_NEAR(changed, 300 * 8 / 9.0, 45);  // one warp in about nine moves nothing
}

/// A warp moves frames by at most so many, and keeps their order.
TEST(SpecAugment, WarpsWithinItsBounds) {
  double farthest = 0;
  for (std::uint64_t id = 0; id < 300; ++id) {
    const std::vector<float> x_FC = augmented({.time_warp = 4}, {0, id});
    for (int frame = 0; frame < 37; ++frame) {
      const double at = (x_FC[static_cast<std::size_t>(frame) * 12] - 1) / 12;  // frame of the ramp
      farthest = std::max(farthest, std::abs(at - frame));
      if (frame == 0) continue;
      EXPECT_GE(x_FC[static_cast<std::size_t>(frame) * 12],
                x_FC[static_cast<std::size_t>(frame - 1) * 12]);
    }
  }
  EXPECT_GT(farthest, 3);
  EXPECT_LE(farthest, 4.5);
  std::vector<float> few(8 * 12, 1);  // too short to warp by 4
  few[40] = 7;
  const std::vector<float> before = few;
  SpecAugment({.time_warp = 4}, mels(), 3).apply({}, few);
  EXPECT_EQ(few, before);
}

/// Channels are those before features.stack joins frames.
TEST(SpecAugment, MasksTheSameMelsInStackedFrames) {
  const configs::AugmentConfig config{.freq_masks = 1, .freq_width = 5, .time_masks = 1};
  std::vector<float> stacked = ramp();
  SpecAugment(config, mels(2), 3).apply({1, 2}, stacked);
  EXPECT_EQ(stacked, augmented(config, {1, 2}));
}

// torch.nn.functional.interpolate(x, size=n, mode="linear", align_corners=False), PyTorch 2.13
TEST(InterpolateFrames, EqualsPyTorch) {
  const std::vector<float> from{1, 10, -2, -20, 4, 40, 0.5, 5, 3, 30};  // two channels
  const auto expect = [&](const std::vector<double>& expected) {
    std::vector<float> to(2 * expected.size());
    interpolate_frames(from, 2, to);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(to[2 * i], expected[i], 1e-6);
      EXPECT_NEAR(to[2 * i + 1], 10 * expected[i], 1e-5);
    }
  };
  expect({0, 4, 2.166666269302368});
  expect(
      {1, -0.7142857909202576, -0.28571367263793945, 4, 1.4999995231628418, 1.571428656578064, 3});
  expect({1, -2, 4, 0.5, 3});
}

}  // namespace
}  // namespace penstock::runtime
