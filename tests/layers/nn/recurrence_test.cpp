#include "layers/nn/recurrence.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "base/error.h"
#include "layers/nn/linear.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::Golden;
using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kLengths = {7, 1, 13, 5};

const char* name_of(RecurrenceKind kind) {
  switch (kind) {
    case RecurrenceKind::tanh:
      return "tanh";
    case RecurrenceKind::gru:
      return "gru";
    case RecurrenceKind::lstm:
      return "lstm";
  }
  return "?";
}

class RecurrenceTest : public testing::TestWithParam<std::tuple<RecurrenceKind, std::int64_t>> {
 protected:
  RecurrenceKind kind() const { return std::get<0>(GetParam()); }
  std::int64_t directions() const { return std::get<1>(GetParam()); }

  Recurrence layer(std::int64_t hidden) const {
    return Recurrence({"rnn1", kind(), directions(), hidden});
  }
  ActivationDecl input(DType dtype, std::int64_t hidden) const {
    const RecurrenceShape shape{kind(), directions(), hidden, kLengths};
    return {dtype, {{kLengths, directions() * shape.gates() * hidden}}};
  }
};

TEST_P(RecurrenceTest, AgreesWithPyTorch) {
  const Golden golden(std::string("recurrence_") + name_of(kind()) + "_" +
                      std::to_string(directions()));
  const std::int64_t hidden = 11, channels = 6;
  const Recurrence recurrence = layer(hidden);
  LayerRunner rnn(recurrence, input(DType::f32, hidden));
  const Linear linear({.name = "rnn1.input", .in = channels, .out = rnn.input().only().channels()});
  LayerRunner projection(linear, {DType::f32, {{kLengths, channels}}});

  golden.copy("x", projection.input().only().x_FC);
  golden.copy("input.weight", projection.param("rnn1.input.weight"));
  golden.copy("input.bias", projection.param("rnn1.input.bias"));
  golden.copy("weight", rnn.param("rnn1.weight"));
  golden.copy("bias", rnn.param("rnn1.bias"));
  golden.copy("dy", rnn.output_gradient().only().x_FC);
  projection.forward();
  assign(rnn.input().only().x_FC, numbers(projection.output().only().x_FC));
  rnn.forward();
  EXPECT_LE(golden.error(rnn.output().only().x_FC, "y"), 1e-5);

  rnn.backward_input();
  assign(projection.output_gradient().only().x_FC, numbers(rnn.input_gradient().only().x_FC));
  rnn.backward_weight();
  projection.backward_input();
  projection.backward_weight();
  EXPECT_LE(golden.error(projection.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(projection.grad("rnn1.input.weight"), "d input.weight"), 1e-4);
  EXPECT_LE(golden.error(projection.grad("rnn1.input.bias"), "d input.bias"), 1e-4);
  EXPECT_LE(golden.error(rnn.grad("rnn1.weight"), "d weight"), 1e-4);
  EXPECT_LE(golden.error(rnn.grad("rnn1.bias"), "d bias"), 1e-4);
}

TEST_P(RecurrenceTest, HasTheGradientOfFiniteDifferences) {
  const Recurrence recurrence = layer(5);
  LayerRunner runner(recurrence, input(DType::f64, 5));
  runner.randomise(3);
  check_gradients(runner, {.elements = 120});
}

/// All that a training pass makes, at a size where every part of the product's kernels is used.
std::vector<std::vector<double>> train(const Recurrence& recurrence, const ActivationDecl& input) {
  LayerRunner runner(recurrence, input);
  runner.randomise(9);
  for (const Tensor& param : runner.params()) {  // as small as in practice
    auto values = numbers(param);
    for (double& value : values) value = static_cast<float>(value * 0.1);
    assign(param, values);
  }
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  return {numbers(runner.output().only().x_FC), numbers(runner.input_gradient().only().x_FC),
          numbers(runner.grads()[0]), numbers(runner.grads()[1])};
}

TEST_P(RecurrenceTest, SinglePrecisionAgreesWithDouble) {
  const Recurrence recurrence = layer(93);
  const auto single = train(recurrence, input(DType::f32, 93));
  const auto exact = train(recurrence, input(DType::f64, 93));
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_LE(test::relative_error(single[i], exact[i]), i == 0 ? 2e-6 : 1e-5) << i;
}

TEST_P(RecurrenceTest, RepeatsItsBits) {
  const Recurrence recurrence = layer(93);
  EXPECT_EQ(train(recurrence, input(DType::f32, 93)), train(recurrence, input(DType::f32, 93)));
}

TEST_P(RecurrenceTest, EvaluatesToTheSameBits) {
  const Recurrence recurrence = layer(19);
  LayerRunner runner(recurrence, input(DType::f32, 19));
  runner.randomise(5);
  runner.forward();
  const auto trained = numbers(runner.output().only().x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), trained);
}

TEST_P(RecurrenceTest, AnUtteranceDoesNotSeeTheOthers) {
  const Recurrence recurrence = layer(19);
  LayerRunner all(recurrence, input(DType::f64, 19));
  all.randomise(5);
  all.forward();
  const std::int64_t first = 8, frames = 13, columns = all.input().only().channels();
  LayerRunner alone(recurrence, {DType::f64, {{{frames}, columns}}});
  alone.randomise(5);
  for (std::size_t i = 0; i < alone.params().size(); ++i)
    assign(alone.params()[i], numbers(all.params()[i]));
  assign(alone.input().only().x_FC,
         std::span(all.input().only().x_FC.as<double>() + first * columns, frames * columns));
  alone.forward();
  const std::span expected(all.output().only().x_FC.as<double>() + first * 19, frames * 19);
  EXPECT_LE(test::relative_error(numbers(alone.output().only().x_FC), expected), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrenceTest,
                         testing::Combine(testing::Values(RecurrenceKind::tanh, RecurrenceKind::gru,
                                                          RecurrenceKind::lstm),
                                          testing::Values(1, 2)),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(RecurrencePlanTest, RejectsWhatDoesNotFit) {
  EXPECT_THROW(Recurrence({"rnn1", RecurrenceKind::gru, 3, 5}), ShapeError);
  EXPECT_THROW(Recurrence({"rnn1", RecurrenceKind::gru, 2, 0}), ShapeError);
  const Recurrence layer({"rnn1", RecurrenceKind::gru, 2, 5});
  EXPECT_THROW(layer.plan({DType::f32, {{{2}, 29}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
