#include "layers/models/rated_layer.h"

#include <gtest/gtest.h>

#include "layers/models/residual_units.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

const ActivationDecl kInput{DType::f32, {{{7, 1, 13}, 12}}};

LayerPlan plan_of(std::unique_ptr<Layer> layer, RatedLayer::Rates rates) {
  return RatedLayer(std::move(layer), std::move(rates)).plan(kInput, {});
}

std::unique_ptr<Layer> linear() {
  return std::make_unique<Linear>(LinearOptions{.name = "linear", .in = 12, .out = 5});
}

TEST(RatedLayer, GivesEachParameterItsRate) {
  const LayerPlan plan = plan_of(linear(), {{0.5, 0}, true});
  EXPECT_EQ(plan.params[0].rate, 0.5);
  EXPECT_TRUE(plan.params[1].frozen());
  EXPECT_TRUE(plan.trained());
  EXPECT_EQ(plan.flops.backward_weight, linear()->plan(kInput, {}).flops.backward_weight);
}

TEST(RatedLayer, FrozenWholeItAddsNoGradients) {
  const LayerPlan plan = plan_of(linear(), {{0, 0}, true});
  EXPECT_FALSE(plan.trained());
  EXPECT_TRUE(plan.runs_backward());
  EXPECT_EQ(plan.flops.backward_weight, 0);
  EXPECT_GT(plan.flops.backward_input, 0);
}

TEST(RatedLayer, BelowTrainedLayersItHasNoBackward) {
  const LayerPlan plan = plan_of(linear(), {{0, 0}, false});
  EXPECT_FALSE(plan.runs_backward());
  EXPECT_EQ(plan.flops.backward_input, 0);
  EXPECT_EQ(plan.workspace.backward_input, 0u);
  EXPECT_TRUE(plan_of(linear(), {{0, 1}, false}).runs_backward());
}

TEST(RatedLayer, KeepsTheInputGradientThatItsWeightsNeed) {
  const auto recurrence = [] {
    return std::make_unique<Recurrence>(RecurrenceOptions{.name = "rnn", .hidden = 2});
  };
  const RatedLayer::Rates trained{{1, 1}, false}, frozen{{0, 0}, false};
  EXPECT_TRUE(plan_of(recurrence(), trained).passes_gradient);
  EXPECT_FALSE(plan_of(recurrence(), frozen).passes_gradient);
  EXPECT_FALSE(plan_of(linear(), trained).passes_gradient);
}

TEST(RatedLayer, FrozenItSavesNothingForItsWeights) {
  const LayerPlan frozen = plan_of(linear(), {{0, 0}, true});
  for (const ParamDecl& p : frozen.params) EXPECT_FALSE(p.summed);
  for (const SavedDecl& saved : frozen.saved) EXPECT_EQ(saved.kind, SavedDecl::Kind::none);
  const LayerPlan trained = plan_of(linear(), {{0, 1}, true});
  for (const ParamDecl& p : trained.params) EXPECT_TRUE(p.summed);
  for (const SavedDecl& saved : trained.saved) EXPECT_NE(saved.kind, SavedDecl::Kind::none);
}

std::unique_ptr<Layer> unit() {
  return attention_unit({.name = "unit", .width = 12, .heads = 3, .norm_first = true});
}

// norm.weight, norm.bias, qkv.weight, qkv.bias, output.weight, output.bias
TEST(RatedLayer, FreezesThePartsOfAUnitEach) {
  std::unique_ptr<Layer> rated = unit();
  rate_layer(rated, {{0, 0, 0, 0, 0, 2}, true});
  const LayerPlan plan = rated->plan(kInput, {}), whole = unit()->plan(kInput, {});
  for (std::size_t i = 0; i < plan.params.size(); ++i) {
    EXPECT_EQ(plan.params[i].summed, i >= 4) << plan.params[i].name;
    EXPECT_EQ(plan.params[i].rate, i == 5 ? 2 : 0) << plan.params[i].name;
  }
  EXPECT_LT(plan.flops.backward_weight, whole.flops.backward_weight);
  EXPECT_GT(plan.flops.backward_weight, 0);
}

TEST(RatedLayer, FrozenPartsChangeNoOtherGradient) {
  std::unique_ptr<Layer> whole = unit(), rated = unit();
  rate_layer(rated, {{1, 1, 0, 0, 1, 1}, true});
  test::LayerRunner expected(*whole, kInput), runner(*rated, kInput);
  for (test::LayerRunner* each : {&expected, &runner}) {
    each->randomise(7);
    each->forward();
    each->backward_input();
    each->backward_weight();
  }
  EXPECT_EQ(test::numbers(runner.input_gradient().only().x_FC),
            test::numbers(expected.input_gradient().only().x_FC));
  for (const ParamDecl& p : runner.plan().params)
    if (p.summed) {
      EXPECT_EQ(test::numbers(runner.grad(p.name)), test::numbers(expected.grad(p.name))) << p.name;
    }
}

}  // namespace
}  // namespace penstock::layers
