#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/cpu/transducer/transducer_run.h"
#include "tests/support/layers/golden.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::relative_error;

TransducerRun run_of(const Golden& golden, DType dtype) {
  TransducerRun run{.dtype = dtype, .lengths = golden.integers("lengths")};
  const std::vector<std::int64_t> flat = golden.integers("labels");
  auto next = flat.begin();
  for (const std::int64_t count : golden.integers("label_counts")) {
    run.labels.emplace_back(next, next + count);
    next += count;
  }
  if (golden.has("durations"))
    for (const std::int64_t d : golden.integers("durations"))
      run.durations.push_back(static_cast<std::int32_t>(d));
  if (golden.has("sigma")) run.sigma = golden["sigma"][0];
  run.tokens = golden.shape("logits")[1] - static_cast<std::int64_t>(run.durations.size());
  return run;
}

struct TransducerTypes : testing::TestWithParam<DType> {};

TEST_P(TransducerTypes, AgreesWithPyTorch) {
  const bool wide = GetParam() == DType::f64;
  for (const char* name : {"transducer_rnnt", "transducer_tdt"}) {
    SCOPED_TRACE(name);
    const Golden golden(name);
    TransducerRun run = run_of(golden, GetParam());
    run.run(golden["logits"]);
    EXPECT_LE(relative_error(run.losses, golden["losses"]), wide ? 1e-13 : 1e-6);
    EXPECT_LE(relative_error(run.gradient, golden["dlogits"]), wide ? 1e-12 : 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TransducerTypes, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Ragged utterances of 11 tokens, whose rows lie off every boundary of vectors.
TransducerRun ragged(DType dtype, std::vector<std::int32_t> durations) {
  return {.dtype = dtype,
          .lengths = {7, 1, 0, 13, 5, 1},
          .labels = {{1, 2, 10}, {}, {4}, {3, 3, 1, 9, 1}, {}, {7, 7}},
          .tokens = 11,
          .durations = std::move(durations),
          .sigma = 0.05};
}

TEST(TransducerScoresTest, TilesChangeNoBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    TransducerRun whole = ragged(dtype, {0, 1, 2});
    const std::vector<double> logits = test::uniform(whole.cells() * whole.width(), 4, -5, 5);
    whole.run(logits);
    for (const std::int64_t frames : {1, 2, 3}) {
      TransducerRun tiled = ragged(dtype, {0, 1, 2});
      tiled.tile_frames = frames;
      tiled.run(logits);
      EXPECT_EQ(tiled.scores, whole.scores);
      EXPECT_EQ(tiled.losses, whole.losses);
      EXPECT_EQ(tiled.gradient, whole.gradient);
    }
  }
}

TEST(TransducerScoresTest, HalvesAreComputedInFP32) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    TransducerRun halves = ragged(dtype, {}), wide = ragged(DType::f32, {});
    std::vector<double> logits = test::uniform(wide.cells() * wide.width(), 6, -5, 5);
    std::vector<std::uint16_t> rounded(logits.size());
    const Tensor as_halves{rounded.data(), dtype, {static_cast<std::int64_t>(logits.size())}};
    test::assign(as_halves, logits);
    logits = test::numbers(as_halves);
    halves.run(logits);
    wide.run(logits);
    EXPECT_EQ(halves.scores, wide.scores);
    EXPECT_EQ(halves.losses, wide.losses);
    test::assign(as_halves, wide.gradient);
    EXPECT_EQ(halves.gradient, test::numbers(as_halves));
  }
}

// Each logit of one cell in turn; the rows of a token's and of a duration's gradients add up to 0.
TEST(TransducerScoresTest, HasTheGradientOfFiniteDifferences) {
  for (const std::vector<std::int32_t>& durations : {std::vector<std::int32_t>{}, {0, 1, 2, 4}}) {
    const auto loss_of = [&](const std::vector<double>& logits) {
      TransducerRun run = ragged(DType::f64, durations);
      run.run(logits);
      double sum = 0;
      for (const double loss : run.losses) sum += loss;
      return sum;
    };
    TransducerRun run = ragged(DType::f64, durations);
    std::vector<double> logits = test::uniform(run.cells() * run.width(), 8, -2, 2);
    run.run(logits);
    std::vector<double> differences, gradient;
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < logits.size(); i += 7) {
      const double before = logits[i];
      logits[i] = before + kStep;
      const double more = loss_of(logits);
      logits[i] = before - kStep;
      differences.push_back((more - loss_of(logits)) / (2 * kStep));
      gradient.push_back(run.gradient[i]);
      logits[i] = before;
    }
    EXPECT_LE(relative_error(gradient, differences), 1e-7);
  }
}

TEST(TransducerScoresTest, LargeLogitsDoNotOverflow) {
  TransducerRun run = ragged(DType::f32, {0, 1, 2});
  std::vector<double> logits = test::uniform(run.cells() * run.width(), 2, -3e4, 3e4);
  run.run(logits);
  for (const double loss : run.losses) EXPECT_TRUE(std::isfinite(loss));
  for (const double g : run.gradient) EXPECT_LE(std::abs(g), 1.00001);
}

}  // namespace
}  // namespace penstock::layers
