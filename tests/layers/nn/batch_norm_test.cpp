#include "layers/nn/batch_norm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/nn/elementwise.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

struct Case {
  const char* golden;
  std::int64_t channels, groups;
};

struct BatchNormCases : testing::TestWithParam<Case> {
  const Case& with = GetParam();
  const BatchNorm layer{{.name = "norm1", .channels = with.channels, .groups = with.groups}};

  ActivationDecl input(DType dtype, std::vector<std::int64_t> lengths) const {
    return {dtype, {{std::move(lengths), with.channels * with.groups}}};
  }
  static void set_params(const Golden& golden, LayerRunner& runner) {
    golden.copy("weight", runner.param("norm1.weight"));
    golden.copy("bias", runner.param("norm1.bias"));
  }
};

// Two micro-batches of one step: outputs and gradients by their own statistics, gradients of the
// weights added, running statistics of both together, then evaluation with those.
TEST_P(BatchNormCases, AgreesWithPyTorch) {
  const Golden golden(with.golden);
  std::vector<double> sums, dweight, dbias;
  for (const char* k : {"0", "1"}) {
    LayerRunner runner(layer, input(DType::f32, {golden.shape(std::string("x") + k)[0]}));
    set_params(golden, runner);
    golden.copy(std::string("x") + k, runner.input().only().x_FC);
    golden.copy(std::string("dy") + k, runner.output_gradient().only().x_FC);
    if (!dweight.empty()) {
      test::assign(runner.grad("norm1.weight"), dweight);
      test::assign(runner.grad("norm1.bias"), dbias);
    }
    runner.forward();
    runner.backward_input();
    runner.backward_weight();
    EXPECT_LE(golden.error(runner.output().only().x_FC, std::string("y") + k), 1e-5);
    EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, std::string("dx") + k), 1e-4);
    sums.insert(sums.end(), runner.sums().begin(), runner.sums().end());
    dweight = numbers(runner.grad("norm1.weight"));
    dbias = numbers(runner.grad("norm1.bias"));
  }
  EXPECT_LE(test::relative_error(dweight, golden["dweight"]), 1e-4);
  EXPECT_LE(test::relative_error(dbias, golden["dbias"]), 1e-4);

  LayerRunner runner(layer, input(DType::f32, {2, 3}));
  set_params(golden, runner);
  runner.commit_state(sums);
  EXPECT_LE(golden.error(runner.state("norm1.running_mean"), "running_mean"), 1e-6);
  EXPECT_LE(golden.error(runner.state("norm1.running_var"), "running_var"), 1e-6);
  golden.copy("x_evaluate", runner.input().only().x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y_evaluate"), 1e-5);
}

TEST_P(BatchNormCases, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer, input(DType::f64, {7, 1, 13, 5}));
  runner.randomise(11);
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormCases,
                         testing::Values(Case{"batch_norm", 11, 1},
                                         Case{"batch_norm_groups", 3, 5}),
                         [](const auto& info) { return info.param.golden; });

BatchNormOptions with_silu(std::int64_t channels) {
  return {.name = "norm1", .channels = channels, .silu = true};
}

TEST(BatchNormWithSilu, HasTheGradientOfFiniteDifferences) {
  const BatchNorm layer(with_silu(11));
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 11}}});
  runner.randomise(11);
  check_gradients(runner);
}

// 19 channels: two vectors, and lanes left.
TEST(BatchNormWithSilu, IsTheNormAndSilu) {
  const auto copy = [](const Tensor& from, const Tensor& to) { test::assign(to, numbers(from)); };
  const std::int64_t channels = 19;
  const BatchNorm layer(with_silu(channels)), before({.name = "norm1", .channels = channels});
  const Nonlinearity silu("act", NonlinearityKind::silu);
  const ActivationDecl input{DType::f32, {{{7, 1, 13, 5}, channels}}};
  LayerRunner whole(layer, input), first(before, input), second(silu, input);
  for (LayerRunner* runner : {&whole, &first, &second}) runner->randomise(6);
  for (Mode mode : {Mode::evaluate, Mode::train}) {
    whole.mode = first.mode = second.mode = mode;
    whole.forward();
    first.forward();
    copy(first.output().only().x_FC, second.input().only().x_FC);
    second.forward();
    EXPECT_LE(test::relative_error(numbers(whole.output().only().x_FC),
                                   numbers(second.output().only().x_FC)),
              1e-6);
  }
  second.backward_input();
  copy(second.input_gradient().only().x_FC, first.output_gradient().only().x_FC);
  first.backward_input();
  whole.backward_input();
  first.backward_weight();
  whole.backward_weight();
  EXPECT_LE(test::relative_error(numbers(whole.input_gradient().only().x_FC),
                                 numbers(first.input_gradient().only().x_FC)),
            1e-5);
  for (const char* name : {"norm1.weight", "norm1.bias"})
    EXPECT_LE(test::relative_error(numbers(whole.grad(name)), numbers(first.grad(name))), 1e-5)
        << name;
  EXPECT_EQ(std::vector(whole.sums().begin(), whole.sums().end()),
            std::vector(first.sums().begin(), first.sums().end()));
}

TEST(BatchNorm, PoolsRowsToThatOfAllTheirFrames) {
  const BatchNorm layer({.name = "norm1", .channels = 3});
  const auto input = [](std::vector<std::int64_t> lengths) {
    return ActivationDecl{DType::f64, {{std::move(lengths), 3}}};
  };
  LayerRunner whole(layer, input({7, 1, 13}));
  whole.randomise(5);
  whole.forward();
  const std::vector<double> x_FC = numbers(whole.input().only().x_FC);
  std::vector<double> rows;
  auto frame = x_FC.begin();
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{7}, {}, {1, 13}}) {
    LayerRunner part(layer, input(lengths));
    part.randomise(5);
    const std::int64_t count = part.input().only().x_FC.size();
    test::assign(part.input().only().x_FC, {frame, frame + count});
    frame += count;
    part.forward();
    rows.insert(rows.end(), part.sums().begin(), part.sums().end());
  }
  const std::vector<double> expected(whole.sums().begin(), whole.sums().end());
  EXPECT_LE(test::relative_error(layer.pool(rows), expected), 1e-13);
  EXPECT_EQ(layer.pool(expected), expected);
  EXPECT_EQ(layer.pool({}), std::vector<double>(expected.size()));
}

TEST(BatchNorm, LeavesTheStateAloneWithoutFrames) {
  const BatchNorm layer({.name = "norm1", .channels = 2});
  LayerRunner runner(layer, {DType::f32, {{{}, 2}}});
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  runner.commit_state();
  EXPECT_EQ(numbers(runner.state("norm1.running_mean")), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(runner.state("norm1.running_var")), (std::vector<double>{1, 1}));
  EXPECT_EQ(numbers(runner.grad("norm1.weight")), (std::vector<double>{0, 0}));
}

TEST(BatchNorm, RejectsOtherColumns) {
  const BatchNorm layer({.name = "norm1", .channels = 4, .groups = 3});
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 13}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
