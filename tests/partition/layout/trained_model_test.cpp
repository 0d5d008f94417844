#include "partition/layout/trained_model.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/parameter_layout.h"
#include "partition/planner/cost/cost.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using Patterns = std::vector<std::string>;

const std::vector<std::int64_t> kLengths = {50, 31};

configs::Config config_with(const Patterns& freeze, const Patterns& rates = {}) {
  configs::Config config;
  config.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 13, .layers = 2}};
  config.optimizer.freeze = freeze;
  config.optimizer.learning_rates = rates;
  return config;
}

std::map<std::string, double> rates_of(const configs::Config& config) {
  std::map<std::string, double> rates;
  for (const layers::LayerPlan& plan : plan_layers(build_trained_model(config, 7), kLengths, {}))
    for (const layers::ParamDecl& p : plan.params) rates[p.name] = p.rate;
  return rates;
}

std::string fault(const Patterns& freeze, const Patterns& rates = {}) {
  return test::message_of<ConfigError>(
      [&] { (void)build_trained_model(config_with(freeze, rates), 7); });
}

TEST(TrainedModel, PatternsGiveEachParameterItsRate) {
  for (const auto& [name, rate] : rates_of(config_with({}))) EXPECT_EQ(rate, 1) << name;
  const auto rates =
      rates_of(config_with({"conv?.*", "*.bias"}, {"output.weight:10", "*.weight: 0.25"}));
  EXPECT_EQ(rates.at("conv1.weight"), 0);
  EXPECT_EQ(rates.at("rnn1.bias"), 0);
  EXPECT_EQ(rates.at("rnn1.weight"), 0.25);
  EXPECT_EQ(rates.at("output.weight"), 10);  // the first that matches
}

TEST(TrainedModel, AFrozenModelSumsNoGradient) {
  const LayerSequence frozen = build_frozen_model(config_with({}).model, 7);
  const auto plans = plan_layers(frozen, kLengths, {});
  const std::vector<layers::LayerPlan> trained =
      plan_layers(build_trained_model(config_with({}), 7), kLengths, {});
  ASSERT_EQ(plans.size(), trained.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_FALSE(plans[i].runs_backward()) << i;
    EXPECT_EQ(plans[i].flops.forward, trained[i].flops.forward) << i;
  }
  EXPECT_EQ(lay_out_parameters(plans, {}, 0).arena, 0u);
  EXPECT_GT(lay_out_parameters(trained, {}, 0).arena, 0u);
}

TEST(TrainedModel, BackwardEndsAtTheLowestTrainedLayer) {
  const auto plans = plan_layers(
      build_trained_model(config_with({"conv*", "norm?.*", "rnn1.input.*"}), 7), kLengths, {});
  bool below = true;
  for (const layers::LayerPlan& plan : plans) {
    const bool is_rnn1 = !plan.params.empty() && plan.params[0].name == "rnn1.weight";
    if (is_rnn1) below = false;
    EXPECT_EQ(plan.runs_backward(), !below);
    EXPECT_EQ(plan.flops.backward_input > 0 || plan.flops.backward_weight > 0,
              !below && plan.flops.forward > 0);
    // A recurrence adds its weights' gradients from that of its input, which it makes anyway.
    EXPECT_EQ(plan.passes_gradient, !below);
  }
  EXPECT_FALSE(below);
}

TEST(TrainedModel, FrozenLayersCostNoBackward) {
  const LayerSequence sequence = build_trained_model(config_with({"conv*", "rnn2.input.*"}), 7);
  const auto costs = analytic_costs(sequence, kLengths, {}, default_rates({}));
  for (const LayerCost& cost : costs) {
    if (cost.layer == "conv1") {
      EXPECT_EQ(cost.backward_input + cost.backward_weight, 0);
    }
    if (cost.layer == "rnn2.input") {
      EXPECT_GT(cost.backward_input, 0);
      EXPECT_EQ(cost.backward_weight, 0);
    }
  }
}

TEST(TrainedModel, PatternsThatMatchNothingNameWhatIsNear) {
  const std::string message = fault({"rnn1.inptu.weight", "conv1.*"}, {"rnn9*:2"});
  for (const char* part :
       {"optimizer.freeze has the pattern \"rnn1.inptu.weight\"", "rnn1.input.weight",
        "optimizer.learning_rates has the pattern \"rnn9*\"", "rnn2.norm.weight"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
  EXPECT_EQ(message.find("\"conv1.*\""), std::string::npos) << message;
  EXPECT_NE(fault({"zzz"}).find("conv1.weight"), std::string::npos);
}

TEST(TrainedModel, RefusesToTrainNothing) {
  EXPECT_NE(fault({"*"}).find("leave at least one"), std::string::npos);
  EXPECT_EQ(fault({"[a-n]*", "rnn*"}).find("leave at least one"), std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
