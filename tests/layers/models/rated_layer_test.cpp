#include "layers/models/rated_layer.h"

#include <gtest/gtest.h>

#include "layers/nn/batch_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"

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

}  // namespace
}  // namespace penstock::layers
