#include "runtime/data/augment/reverberate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/data/augment/add_noise.h"
#include "tests/support/runtime/sounds.h"

namespace penstock::runtime {
namespace {

/// A response whose direct path comes after `delay` samples, with a fading tail.
std::vector<float> response(std::size_t delay, float tail) {
  std::vector<float> taps(delay + 501);
  for (std::size_t i = 0; i <= 500; ++i)
    taps[delay + i] = i == 0 ? -0.8f : tail * std::exp(-static_cast<float>(i) / 100);
  return taps;
}

TEST(Reverberate, KeepsWhatArrivesDirectly) {
  const std::vector<float> before = test::make_sound(1001);
  std::vector<float> after = before;
  reverberate(after, response(77, 0));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], -before[i], 1e-6) << i;
}

/// A click stays where it is: echoes follow it, and nothing comes before it.
TEST(Reverberate, KeepsTheTiming) {
  std::vector<float> click(999);
  click[300] = 0.5f;
  reverberate(click, response(77, 0.1f));
  const auto loudest = std::ranges::max_element(click, {}, [](float x) { return std::abs(x); });
  EXPECT_EQ(loudest - click.begin(), 300);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_NEAR(click[i], 0, 1e-6) << i;
  EXPECT_GT(std::abs(click[301]), 0.01);
}

TEST(Reverberate, KeepsTheEnergy) {
  std::vector<float> samples = test::make_sound(1001);
  const double before = energy(samples);
  reverberate(samples, response(3, 0.3f));
  EXPECT_NEAR(energy(samples), before, 1e-5 * before);
  std::vector<float> silence(7);
  reverberate(silence, response(3, 0.3f));
  EXPECT_EQ(silence, std::vector<float>(7));
  const std::vector<float> kept = samples;
  reverberate(samples, std::vector<float>(5));
  EXPECT_EQ(samples, kept);
}

}  // namespace
}  // namespace penstock::runtime
