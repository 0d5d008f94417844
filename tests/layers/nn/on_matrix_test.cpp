#include "layers/nn/on_matrix.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "layers/models/lora.h"
#include "layers/models/rated_layer.h"
#include "layers/models/residual_units.h"
#include "layers/nn/linear.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kMemoryRows = {7, 1, 4}, kTextRows = {2, 5, 3};

ActivationDecl two_matrices(DType dtype) { return {dtype, {{kMemoryRows, 6}, {kTextRows, 6}}}; }

std::unique_ptr<Layer> unit() {
  return attention_unit({.name = "unit", .width = 6, .heads = 2, .right = 0, .dropout = 0.2});
}

TEST(OnMatrixTest, HasTheGradientOfFiniteDifferences) {
  for (const auto which : {OnMatrix::memory, OnMatrix::text}) {
    const OnMatrix layer(which, unit(), 6);
    LayerRunner runner(layer, two_matrices(DType::f64));
    const std::vector<std::uint64_t> utterances = {3, 1, 4};
    runner.random.utterances = utterances;
    runner.randomise(3);
    check_gradients(runner, {.elements = 60});
  }
}

TEST(OnMatrixTest, ComputesWhatTheLayerDoes) {
  const OnMatrix layer(OnMatrix::text, unit(), 6);
  const auto alone = unit();
  LayerRunner inside(layer, two_matrices(DType::f32)),
      outside(*alone, {DType::f32, {{kTextRows, 6}}});
  const std::vector<std::uint64_t> utterances = {3, 1, 4};
  inside.randomise(3);
  for (std::size_t i = 0; i < inside.params().size(); ++i)
    test::assign(outside.params()[i], numbers(inside.params()[i]));
  test::assign(outside.input().only().x_FC, numbers(inside.input().frames[1].x_FC));
  test::assign(outside.output_gradient().only().x_FC,
               numbers(inside.output_gradient().frames[1].x_FC));
  for (LayerRunner* const runner : {&inside, &outside}) {
    runner->random.utterances = utterances;
    runner->forward();
    runner->backward_input();
    runner->backward_weight();
  }
  EXPECT_EQ(numbers(inside.output().frames[1].x_FC), numbers(outside.output().only().x_FC));
  EXPECT_EQ(numbers(inside.input_gradient().frames[1].x_FC),
            numbers(outside.input_gradient().only().x_FC));
  for (std::size_t i = 0; i < inside.grads().size(); ++i)
    EXPECT_EQ(numbers(inside.grads()[i]), numbers(outside.grads()[i]));
  EXPECT_EQ(numbers(inside.output().frames[0].x_FC), numbers(inside.input().frames[0].x_FC));
  EXPECT_EQ(numbers(inside.input_gradient().frames[0].x_FC),
            numbers(inside.output_gradient().frames[0].x_FC));
}

// A text's memory has no rows while it is written.
TEST(OnMatrixTest, SkipsAMemoryWithoutRows) {
  const OnMatrix layer(OnMatrix::memory,
                       std::make_unique<Linear>(LinearOptions{.name = "head", .in = 6, .out = 4}),
                       6);
  LayerRunner runner(layer, {DType::f32, {{{0, 0}, 6}, {{1, 0}, 6}}});
  runner.randomise(1);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().frames[1].x_FC), numbers(runner.input().frames[1].x_FC));
  EXPECT_EQ(runner.plan().output.frames[0].channels, 4);
  EXPECT_EQ(runner.plan().cache_channels, 0);
}

TEST(OnMatrixTest, FrozenPartsKeepNothingForWeights) {
  std::unique_ptr<Layer> frozen = std::make_unique<OnMatrix>(
      OnMatrix::text, std::make_unique<Linear>(LinearOptions{.name = "head", .in = 6, .out = 6}),
      6);
  rate_layer(frozen, {{0, 0}, true});
  const LayerPlan plan = frozen->plan(two_matrices(DType::f32), {});
  for (const SavedDecl& saved : plan.saved) EXPECT_EQ(saved.kind, SavedDecl::Kind::none);
  LayerRunner runner(*frozen, two_matrices(DType::f32));
  runner.randomise(1);
  runner.forward();
  runner.backward_input();
}

TEST(OnMatrixTest, AdaptersReachIntoIt) {
  std::vector<std::unique_ptr<Layer>> sequence;
  sequence.push_back(std::make_unique<OnMatrix>(OnMatrix::text, unit(), 6));
  EXPECT_EQ(adaptable_layers(sequence), (std::vector<std::string>{"unit.qkv", "unit.output"}));
  const std::size_t before = sequence[0]->plan(two_matrices(DType::f32), {}).params.size();
  adapt_layers(sequence, {.rank = 2}, [](const std::string& name) { return name == "unit.qkv"; });
  EXPECT_EQ(sequence[0]->plan(two_matrices(DType::f32), {}).params.size(), before + 2);
}

TEST(OnMatrixTest, RejectsOtherActivations) {
  const OnMatrix layer(OnMatrix::text, unit(), 6);
  EXPECT_THROW((void)layer.plan({DType::f32, {{{3}, 6}}}, {}), ShapeError);
  EXPECT_THROW((void)layer.plan({DType::f32, {{{3, 1}, 6}, {{3}, 6}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
