#include "partition/planner/cost/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/models/conformer.h"
#include "layers/models/families.h"
#include "layers/nn/attention.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

using layers::DeviceKind, layers::DType, layers::Fp32Products;
using Lengths = std::vector<std::int64_t>;

TEST(Cost, IsTheRooflinePlusALaunch) {
  const LayerSequence sequence = test::small_sequence();
  const Lengths lengths{7, 1, 13, 5};  // 26 frames, 15 after the convolution
  const DeviceRates rates{.product = 1e3,
                          .convolution = 1e4,
                          .recurrence = 1,
                          .elementwise = 1e9,
                          .bandwidth = 1e6,
                          .launch = 1};
  const auto costs = analytic_costs(sequence, lengths, {}, rates);
  ASSERT_EQ(costs.size(), 4u);
  EXPECT_EQ(costs[0].layer, "conv");
  // 15 frames × 12 outputs × 9 products by convolution's rate.
  EXPECT_DOUBLE_EQ(costs[0].forward, 1 + 2 * 15 * 12 * 9 / 1e4);
  EXPECT_EQ(costs[0].backward_input, 0);
  // The clipped ReLU reads and writes 15 × 12 numbers, which takes longer than computing them.
  EXPECT_DOUBLE_EQ(costs[1].forward, 1 + 2 * layers::aligned(15 * 12 * 4) / 1e6);
  EXPECT_EQ(costs[1].backward_weight, 0);
  EXPECT_DOUBLE_EQ(costs[2].backward_weight, 1 + 2 * 15 * 12 * 10 / 1e3);
  EXPECT_DOUBLE_EQ(costs[3].total(), 3 * (1 + 2 * 15 * 10 * 5 / 1e3));
}

TEST(Cost, CountsTheOperationsOfTraining) {
  // The convolution twice, for nobody wants the features' gradient; two linear layers three times;
  // the clipped ReLU forward and backward.
  const double convolution = 2.0 * 15 * 12 * 9, relu = 2.0 * 15 * 12;
  const double linear = 2.0 * 15 * 12 * 10 + 2.0 * 15 * 10 * 5;
  EXPECT_DOUBLE_EQ(training_flops(test::small_sequence(), Lengths{7, 1, 13, 5}),
                   2 * convolution + 2 * relu + 3 * linear);
}

TEST(Cost, OfProductsFollowsWhatMultiplies) {
  const auto product = [](DeviceKind device, DType compute, Fp32Products products) {
    return default_rates({device, compute, products}).product;
  };
  const DeviceKind gpu = DeviceKind::cuda, cpu = DeviceKind::cpu;
  EXPECT_EQ(product(gpu, DType::f16, Fp32Products::full), 700e12);
  EXPECT_EQ(product(gpu, DType::f32, Fp32Products::tf32), 350e12);
  EXPECT_EQ(product(gpu, DType::f32, Fp32Products::full), 45e12);
  EXPECT_EQ(product(cpu, DType::f32, Fp32Products::tf32),
            product(cpu, DType::f32, Fp32Products::full));
}

/// Both passes over time follow the longest utterance; the weights' gradient has all frames.
TEST(Cost, OfRecurrencesIsStepsAndOneProduct) {
  LayerSequence sequence;
  sequence.features = 2 * 3 * 5;
  sequence.layers.push_back(std::make_unique<layers::Linear>(
      layers::LinearOptions{.name = "input", .in = 30, .out = 30}));
  sequence.layers.push_back(
      std::make_unique<layers::Recurrence>(layers::RecurrenceOptions{.name = "rnn", .hidden = 5}));
  const DeviceRates rates{.product = 1e3,
                          .convolution = 1,
                          .recurrence = 50,
                          .elementwise = 1,
                          .bandwidth = 1e300,
                          .launch = 1,
                          .time_step = 4};
  const Lengths lengths{7, 1, 13};
  const LayerCost cost = analytic_costs(sequence, lengths, {}, rates)[1];
  const double frame = 2 * 2 * 15 * 5;  // two directions, three gates
  EXPECT_DOUBLE_EQ(cost.forward, 1 + 13 * 4 + (7 + 1 + 13) * frame / 50);
  EXPECT_DOUBLE_EQ(cost.backward_input, cost.forward);
  EXPECT_DOUBLE_EQ(cost.backward_weight, 1 + (7 + 1 + 13) * frame / 1e3);
}

/// Whole tiles of 32 channels beside 128, but for channels that are convolved by themselves.
TEST(Cost, OfConvolutionsIsTilesOfItsChannels) {
  const auto forward = [](layers::Conv1dOptions options) {
    LayerSequence sequence;
    sequence.features = static_cast<int>(options.in_channels);
    options.kernel = 5;
    sequence.layers.push_back(std::make_unique<layers::Conv1d>(options));
    const DeviceRates rates{
        .convolution = 10, .bandwidth = 1e300, .multiprocessors = 1, .tile = 128};
    const Lengths lengths{128};
    return analytic_costs(sequence, lengths, {}, rates)[0].forward;
  };
  const double frames = 128 - 4;
  EXPECT_DOUBLE_EQ(forward({.name = "conv", .in_channels = 1, .out_channels = 32}),
                   2 * 128.0 * 128 * 5 / 10);
  EXPECT_DOUBLE_EQ(forward({.name = "conv", .in_channels = 32, .out_channels = 32, .groups = 32}),
                   2 * frames * 32 * 5 / 10);
}

TEST(Cost, OfAttentionHasItsOwnRate) {
  LayerSequence sequence;
  sequence.features = 24;
  sequence.layers.push_back(std::make_unique<layers::Attention>(
      layers::AttentionOptions{.name = "attention", .channels = 8, .heads = 2}));
  DeviceRates rates{.product = 10, .bandwidth = 1e300, .launch = 1};
  const Lengths lengths{5, 3};
  const double operations = 2 * 2 * (5 * 5 + 3 * 3) * 8;
  EXPECT_DOUBLE_EQ(analytic_costs(sequence, lengths, {}, rates)[0].forward, 1 + operations / 10);
  rates.attention = 4;
  EXPECT_DOUBLE_EQ(analytic_costs(sequence, lengths, {}, rates)[0].forward, 1 + operations / 4);
}

LayerSequence conformer(const char* recompute) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5}};
  configs::PipelineConfig pipeline;
  pipeline.recompute = recompute;
  return build_model(model, 9, pipeline);
}

TEST(Cost, OfRemakingUnitsHasTheirCheapForwards) {
  const LayerSequence keeping = conformer("none"), recomputing = conformer(kSelective);
  const Lengths lengths{61, 23, 40};
  constexpr double kFast = 1e300;
  const DeviceRates launches{kFast, kFast, kFast, kFast, kFast, 1},
      operations{kFast, kFast, kFast, 1, kFast, 0};
  const auto parts = [&](int layer) {
    const auto plans = plan_layers(recomputing, lengths, {});
    return layers::parts_of(*recomputing.layers[layer], plans[layer - 1].output, {});
  };
  for (const DeviceRates& rates : {launches, operations}) {
    const auto kept = analytic_costs(keeping, lengths, {}, rates),
               recomputed = analytic_costs(recomputing, lengths, {}, rates);
    int units = 0;
    for (int i = 1; i < recomputing.size(); ++i) {
      double again = 0;
      for (const layers::ResidualPart& part : parts(i))
        if (part.recomputed) again += rates.launch == 1 ? 1 : part.plan.flops.forward;
      EXPECT_DOUBLE_EQ(recomputed[i].backward_input, kept[i].backward_input + again)
          << kept[i].layer;
      EXPECT_EQ(recomputed[i].forward, kept[i].forward);
      EXPECT_EQ(recomputed[i].backward_weight, kept[i].backward_weight);
      units += again > 0;
    }
    EXPECT_EQ(units, 8);  // of two blocks
  }
}

TEST(Cost, OfAUnitIsThatOfItsParts) {
  const LayerSequence recomputing = conformer(kSelective);
  const Lengths lengths{61, 23, 40};
  const DeviceRates launches{1e300, 1e300, 1e300, 1e300, 1e300, 1};
  const auto plans = plan_layers(recomputing, lengths, {});
  const auto recomputed = [](const layers::ResidualPart& part) { return part.recomputed; };
  const auto trained = [](const layers::ResidualPart& part) { return !part.plan.params.empty(); };
  const auto counted = analytic_costs(recomputing, lengths, {}, launches);
  for (const layers::DeviceKind device : {layers::DeviceKind::cpu, layers::DeviceKind::cuda}) {
    const DeviceRates rates = default_rates({device});
    const auto costs = analytic_costs(recomputing, lengths, {device}, rates);
    const auto again = recompute_seconds(recomputing, {lengths}, {device}, rates);
    for (int i = 1; i < recomputing.size(); ++i) {
      const auto parts = layers::parts_of(*recomputing.layers[i], plans[i - 1].output, {});
      if (!parts.empty()) {  // a launch for each part, and for the sum of output and input
        EXPECT_EQ(counted[i].forward, parts.size() + 1) << costs[i].layer;
        EXPECT_EQ(counted[i].backward_input,
                  parts.size() + 1 + std::ranges::count_if(parts, recomputed))
            << costs[i].layer;
        EXPECT_EQ(counted[i].backward_weight, std::ranges::count_if(parts, trained))
            << costs[i].layer;
      }
      EXPECT_LT(again[i], 0.7 * costs[i].forward) << costs[i].layer;  // the products stay
    }
  }
}

TEST(Cost, OfFrozenUnitsHasNothingRemade) {
  configs::Config config;
  config.model = {
      .features = 17,
      .family = layers::ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5}};
  config.pipeline.recompute = kSelective;
  const Lengths lengths{61, 23};
  const auto recomputed = [&] {
    const auto seconds =
        recompute_seconds(build_trained_model(config, 9), {lengths}, {}, default_rates({}));
    return std::ranges::count_if(seconds, [](double s) { return s > 0; });
  };
  EXPECT_EQ(recomputed(), 8);
  config.optimizer.freeze = {"subsampling*", "block1.*"};
  EXPECT_EQ(recomputed(), 4);
}

TEST(Cost, TransfersGoThereAndBack) {
  const auto seconds = transfer_costs(test::small_sequence(), {Lengths{7, 1, 13, 5}}, {},
                                      {.latency = 2, .bandwidth = 100});
  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_DOUBLE_EQ(seconds[0], 2 * (2 + layers::aligned(15 * 12 * 4) / 100.0));
  EXPECT_DOUBLE_EQ(seconds[3], 2 * (2 + layers::aligned(15 * 5 * 4) / 100.0));
}

TEST(Cost, OfARecomputedLayerHasItsForwardTwice) {
  const std::vector<LayerCost> costs{{"conv1", 3, 5, 7}, {"output", 1, 2, 4}};
  EXPECT_EQ(with_recomputation(costs, {})[0].total(), 15);
  const auto more = with_recomputation(costs, {true, false});
  EXPECT_EQ(more[0].forward, 3);
  EXPECT_EQ(more[0].backward_input, 8);
  EXPECT_EQ(more[1].total(), 7);
}

TEST(Cost, LayersWithoutBackwardAreNotRecomputed) {
  const std::vector<LayerCost> costs{{"conv1", 3, 0, 0}, {"conv2", 4, 0, 2}};
  const auto more = with_recomputation(costs, {true, true});
  EXPECT_EQ(more[0].total(), 3);
  EXPECT_EQ(more[1].total(), 10);
}

}  // namespace
}  // namespace penstock::partition
