#include "layers/losses/token_cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/models/rated_layer.h"
#include "tests/layers/losses/labels.h"
#include "tests/layers/losses/plans.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::check_gradients;
using test::Golden;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

using Texts = std::vector<std::vector<std::int32_t>>;

const std::vector<std::int64_t> kTokenRows = {9, 1, 4, 12, 6};
const Texts kTokenTexts = {{3, 22, 0, 3}, {}, {5, 5, 2}, {0, 1, 22, 4, 9, 9, 21, 13}, {}};

TokenCrossEntropyOptions options_of(std::int64_t tile_numbers = 70, double smoothing = 0.1) {
  return {.name = "head",
          .classes = 23,
          .width = 7,
          .eos = 2,
          .smoothing = smoothing,
          .tile_numbers = tile_numbers};
}

/// A training pass of one micro-batch.
struct TokenPass {
  TokenPass(const TokenCrossEntropyOptions& options, DType dtype,
            const std::vector<std::int64_t>& lengths, const Texts& texts, double scale = 0.25)
      : layer(options),
        labels(texts, scale),
        runner(layer, {dtype, {{lengths, options.width}}, labels.counts()}) {
    runner.targets = &labels.targets;
    runner.randomise(3);
  }
  void run() {
    runner.forward();
    runner.backward_input();
    runner.backward_weight();
  }
  std::vector<double> x() { return numbers(runner.input().only().x_FC); }
  std::vector<double> dx() { return numbers(runner.input_gradient().only().x_FC); }
  std::vector<double> weight() { return numbers(runner.params()[0]); }
  std::vector<double> grad() { return numbers(runner.grads()[0]); }

  TokenCrossEntropy layer;
  Labels labels;
  LayerRunner runner;
};

class TokenCrossEntropyGolden
    : public testing::TestWithParam<std::tuple<const char*, double, DType>> {};

TEST_P(TokenCrossEntropyGolden, AgreesWithPyTorch) {
  const auto [name, smoothing, dtype] = GetParam();
  const bool wide = dtype == DType::f64;
  const Golden golden(name);
  TokenPass pass({.name = "",
                  .classes = 37,
                  .width = 13,
                  .eos = 2,
                  .smoothing = smoothing,
                  .tile_numbers = 120},
                 dtype, golden.integers("lengths"), labels_of(golden), 1);
  LayerRunner& runner = pass.runner;
  EXPECT_EQ(runner.params()[0].shape, golden.shape("weight"));
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("weight", runner.param(".weight"));
  pass.run();
  EXPECT_LE(relative_error(pass.labels.losses, golden["losses"]), wide ? 1e-13 : 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), wide ? 1e-7 : 1e-5);
  EXPECT_LE(golden.error(runner.grad(".weight"), "d weight"), wide ? 1e-7 : 1e-5);

  const std::vector<double> in_training = pass.labels.losses;
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(pass.labels.losses, in_training);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TokenCrossEntropyGolden,
    testing::Values(std::tuple{"token_cross_entropy", 0.0, DType::f32},
                    std::tuple{"token_cross_entropy", 0.0, DType::f64},
                    std::tuple{"token_cross_entropy_smoothed", 0.1, DType::f32},
                    std::tuple{"token_cross_entropy_smoothed", 0.1, DType::f64}),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + "_" +
             std::string(name_of(std::get<2>(info.param)));
    });

TEST(TokenCrossEntropyTest, HasTheGradientOfFiniteDifferences) {
  for (const double smoothing : {0.0, 0.2}) {
    TokenPass pass(options_of(70, smoothing), DType::f64, kTokenRows, kTokenTexts);
    pass.labels.weights = {1, 0.5f, 0, 1, 1};
    check_gradients(pass.runner);
  }
}

// Products of other sizes may add in another order.
TEST(TokenCrossEntropyTest, TilesChangeOnlyTheOrderOfSums) {
  TokenPass whole(options_of(1 << 20), DType::f32, kTokenRows, kTokenTexts);
  whole.run();
  for (const std::int64_t tile_numbers : {1, 46, 100, 0}) {
    SCOPED_TRACE(tile_numbers);
    TokenPass pass(options_of(tile_numbers), DType::f32, kTokenRows, kTokenTexts);
    pass.run();
    EXPECT_LE(relative_error(pass.labels.losses, whole.labels.losses), 2e-7);
    EXPECT_LE(relative_error(pass.dx(), whole.dx()), 1e-6);
    EXPECT_LE(relative_error(pass.grad(), whole.grad()), 1e-6);
  }
}

// A tile's products have rows of one utterance alone, so not a bit differs.
TEST(TokenCrossEntropyTest, AnUtteranceDoesNotSeeTheOthers) {
  TokenPass all(options_of(), DType::f32, kTokenRows, kTokenTexts);
  all.run();
  std::int64_t first = 0;
  for (std::size_t u = 0; u < kTokenRows.size(); ++u) {
    TokenPass alone(options_of(), DType::f32, {kTokenRows[u]}, {kTokenTexts[u]});
    const std::int64_t count = kTokenRows[u] * 7;
    const auto part = [&](const std::vector<double>& of) {
      return std::vector<double>(of.begin() + first, of.begin() + first + count);
    };
    assign(alone.runner.params()[0], all.weight());
    assign(alone.runner.input().only().x_FC, part(all.x()));
    alone.run();
    EXPECT_EQ(alone.labels.losses[0], all.labels.losses[u]) << u;
    EXPECT_EQ(alone.dx(), part(all.dx())) << u;
    first += count;
  }
}

TEST(TokenCrossEntropyTest, OnlyTheLastRowsHaveAGradient) {
  TokenPass pass(options_of(), DType::f32, {5}, {{1, 4}});
  pass.run();
  const std::vector<double> dx = pass.dx();
  EXPECT_TRUE(std::all_of(dx.begin(), dx.begin() + 2 * 7, [](double d) { return d == 0; }));
  EXPECT_TRUE(std::all_of(dx.begin() + 2 * 7, dx.end(), [](double d) { return d != 0; }));
}

TEST(TokenCrossEntropyTest, WithoutWeightIsNoLoss) {
  TokenPass pass(options_of(), DType::f32, kTokenRows, kTokenTexts);
  std::fill(pass.labels.weights.begin(), pass.labels.weights.end(), 0.0f);
  pass.run();
  EXPECT_EQ(pass.labels.losses, std::vector<double>(5));
  EXPECT_EQ(pass.dx(), std::vector<double>(32 * 7));
  EXPECT_EQ(pass.grad(), std::vector<double>(23 * 7));
}

class TokenCrossEntropyHalves : public testing::TestWithParam<DType> {};

TEST_P(TokenCrossEntropyHalves, AreNearFp32) {
  const double unit = GetParam() == DType::f16 ? 0x1p-11 : 0x1p-8 / 2;
  TokenPass half(options_of(), GetParam(), kTokenRows, kTokenTexts);
  TokenPass full(options_of(), DType::f32, kTokenRows, kTokenTexts);
  assign(full.runner.input().only().x_FC, half.x());
  assign(full.runner.params()[0], half.weight());
  half.run();
  full.run();
  EXPECT_LE(relative_error(half.labels.losses, full.labels.losses), 2 * unit);
  EXPECT_LE(relative_error(half.dx(), full.dx()), 4 * unit);
  EXPECT_EQ(half.runner.grads()[0].dtype, DType::f32);
  EXPECT_LE(relative_error(half.grad(), full.grad()), 4 * unit);
}

// Without memory that is lent to the stream, each copy in FP32 has its own.
TEST_P(TokenCrossEntropyHalves, CopiesOverlapNoOtherMemory) {
  for (const std::int64_t tile_numbers : {1, 70, 1 << 20}) {
    TokenPass lent(options_of(tile_numbers), GetParam(), kTokenRows, kTokenTexts);
    TokenPass apart(options_of(tile_numbers), GetParam(), kTokenRows, kTokenTexts);
    lent.run();
    const std::unique_ptr<Backend> backend = make_cpu_backend();
    const std::unique_ptr<Stream> stream = backend->make_stream();
    LayerRunner& runner = apart.runner;
    const Workspace& sizes = runner.plan().workspace;
    test::GuardedMemory room(std::max(sizes.forward, sizes.backward_input));
    Context context{*backend, *stream, Mode::train, kTokenRows, {}, room.bytes()};
    context.targets = &apart.labels.targets;
    const Params params{runner.params(), {}};
    apart.layer.forward(context, params, runner.input(), runner.output(), runner.saved());
    apart.layer.backward_input(context, params, {}, runner.saved(), runner.input_gradient());
    apart.layer.backward_weight(context, runner.saved(), runner.grads());
    EXPECT_EQ(lent.labels.losses, apart.labels.losses);
    EXPECT_EQ(lent.dx(), apart.dx());
    EXPECT_EQ(lent.grad(), apart.grad());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TokenCrossEntropyHalves, testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(TokenCrossEntropyTest, FrozenItComputesTheInputGradientAlone) {
  TokenPass trained(options_of(), DType::f32, kTokenRows, kTokenTexts);
  trained.run();
  const RatedLayer frozen(std::make_unique<TokenCrossEntropy>(options_of()), {{0}, true});
  Labels labels(kTokenTexts, 0.25);
  LayerRunner runner(frozen, {DType::f32, {{kTokenRows, 7}}, labels.counts()});
  runner.targets = &labels.targets;
  runner.randomise(3);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(labels.losses, trained.labels.losses);
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC), trained.dx());
  EXPECT_EQ(runner.plan().saved.back().kind, SavedDecl::Kind::none);
}

TEST(TokenCrossEntropyTest, KeepsNoLogits) {
  const TokenCrossEntropy layer({.classes = 10'288, .width = 16});
  const LayerPlan plan = layer.plan({DType::f32, {{{5000, 40}, 16}}, {3000, 20}}, {});
  ASSERT_EQ(plan.saved.size(), 4u);
  EXPECT_EQ(plan.saved[0].kind, SavedDecl::Kind::input);
  EXPECT_EQ(plan.saved[1].shape, (Shape{3001 + 21}));
  EXPECT_EQ(plan.saved[2].shape, (Shape{3001 + 21}));
  EXPECT_EQ(plan.saved[3].shape, (Shape{10'288, 16}));
  EXPECT_LE(plan.workspace.forward, (std::size_t{4} << 22) + 100'000);
  EXPECT_LE(plan.workspace.backward_input, std::size_t{4} << 22);
  EXPECT_EQ(plan.workspace.backward_weight, 0u);
  EXPECT_TRUE(plan.needs_targets);
  EXPECT_TRUE(plan.output.frames.empty());
}

TEST(TokenCrossEntropyTest, NeedsNoLessForMoreRowsOrLabels) {
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    const TokenCrossEntropy layer(options_of());
    const auto plan = [&](std::int64_t rows, std::int64_t labels) {
      return layer.plan({DType::bf16, {{{9, rows}, 7}}, {4, labels}}, {device, DType::bf16});
    };
    for (std::int64_t rows = 0; rows < 12; ++rows)
      for (std::int64_t labels = 0; labels < 14; ++labels) {
        expect_no_less(plan(rows, labels), plan(rows + 1, labels));
        expect_no_less(plan(rows, labels), plan(rows, labels + 1));
      }
  }
}

TEST(TokenCrossEntropyTest, PlansForAUsualNumberOfLabels) {
  const TokenCrossEntropy layer(options_of());
  const LayerPlan usual = layer.plan({DType::f32, {{{50, 7}, 7}}}, {});
  const LayerPlan known = layer.plan({DType::f32, {{{50, 7}, 7}}, {10, 1}}, {});
  EXPECT_EQ(usual.saved[1].shape, known.saved[1].shape);
  EXPECT_EQ(usual.flops.forward, known.flops.forward);
}

TEST(TokenCrossEntropyTest, RejectsLabelsThatAreNoClasses) {
  for (const std::int32_t label : {-1, 23}) {
    TokenPass pass(options_of(), DType::f32, {3}, {{label}});
    EXPECT_THROW(pass.runner.forward(), ShapeError) << label;
    pass.runner.targets = nullptr;
    EXPECT_THROW(pass.runner.forward(), ShapeError) << "no labels at all";
  }
  EXPECT_NO_THROW(TokenPass(options_of(), DType::f32, {3}, {{0, 22}}).runner.forward());
}

TEST(TokenCrossEntropyTest, RejectsMoreLabelsThanRows) {
  EXPECT_THROW(TokenPass(options_of(), DType::f32, {9, 2}, {{1}, {1, 2}}).runner.forward(),
               ShapeError);
}

TEST(TokenCrossEntropyTest, RejectsLabelsThatWereNotPlanned) {
  const TokenCrossEntropy layer(options_of());
  Labels labels({{1, 2, 3}}, 1);
  LayerRunner runner(layer, {DType::f32, {{{5}, 7}}});
  runner.randomise(1);
  runner.targets = &labels.targets;
  EXPECT_THROW(runner.forward(), ShapeError);
}

TEST(TokenCrossEntropyTest, RejectsWhatIsNoSuchLoss) {
  const auto with = [](auto change) {
    TokenCrossEntropyOptions options = options_of();
    change(options);
    return TokenCrossEntropy(options);
  };
  EXPECT_NO_THROW(with([](TokenCrossEntropyOptions&) {}));
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.classes = 0; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.width = 0; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.eos = 23; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.eos = -1; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.smoothing = 1; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.smoothing = NAN; }), ShapeError);
  EXPECT_THROW(with([](TokenCrossEntropyOptions& o) { o.tile_numbers = -1; }), ShapeError);
  EXPECT_THROW((void)TokenCrossEntropy(options_of()).plan({DType::f32, {{{3}, 6}}}, {}),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
