#include "partition/planner/plan/plan_estimate.h"

#include <gtest/gtest.h>

#include "configs/config.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/planner/simulate/step_estimate.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

TEST(PlanEstimate, FollowsFromTheCutAndTheBubble) {
  Plan plan{.schedule = "gpipe", .micro_batches = 6, .lanes = 2, .ranks = {{0, 1}, {2, 3}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"a"}},
                 {.stage = 1, .first = 1, .layers = {"b", "c"}}};
  const std::vector<LayerCost> costs{{"a", 2, 1, 0}, {"b", 1, 1, 1}, {"c", 3, 0, 0}};
  const auto times = chunk_times({0, 1, 3}, costs);
  EXPECT_EQ(times[0].forward, 2);
  EXPECT_EQ(times[1].forward, 4);
  EXPECT_EQ(times[1].total(), 6);

  // Each replica runs 3: the second stage waits 2 seconds for the first forward, works 18 without
  // a gap and leaves a last backward of 1 to the first.
  const PlanEstimate estimate = estimate_plan(plan, costs);
  EXPECT_DOUBLE_EQ(estimate.micro_batch_seconds, 9);
  EXPECT_DOUBLE_EQ(estimate.step_seconds, 2 + 3 * 6 + 1);
  EXPECT_DOUBLE_EQ(estimate.bound, 27.0 / 21);
  EXPECT_DOUBLE_EQ(estimate.idle[0], 12.0 / 21);
  EXPECT_DOUBLE_EQ(estimate.idle[1], 3.0 / 21);
}

TEST(ProfiledStep, FollowsTheProfileThePlanAndTheLengths) {
  const LayerSequence sequence = test::small_sequence();
  DeviceProfile profile;
  using T = CostTerm;
  for (int i = 0; i < 4; ++i)
    profile.layers.push_back({"", {{T::frames}, {i + 1.0}}, {{T::constant}, {10}}, {{}, {}}});
  profile.reading = {{T::constant}, {5}};
  profile.step_s = 1000;
  profile.parameter_s = 3;
  Plan plan{.schedule = "gpipe", .micro_batches = 2, .lanes = 1, .ranks = {{0}, {1}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"conv", "relu", "hidden"}},
                 {.stage = 1, .first = 3, .layers = {"output"}}};

  const std::vector<MicroBatchLengths> lengths{{{7, 2}}, {{4}}};
  const StepEstimate step(profiled_costs(profile, sequence, {}, lengths),
                          profiled_layout(profile, sequence, plan, 2));
  EXPECT_EQ(step.times()[0][0].forward, 9 * (1 + 2 + 3) + 5);
  EXPECT_EQ(step.times()[0][1].forward, 4 * (1 + 2 + 3) + 5);
  EXPECT_EQ(step.times()[1][0].forward, 9 * 4);
  EXPECT_EQ(step.times()[1][0].backward_input, 10);
  const Simulation run = step.simulation();
  const auto parameters = trained_parameters(sequence);
  EXPECT_GT(parameters[0], 0);
  EXPECT_EQ(run.ranks[0].back().end - run.ranks[0].back().start,
            1000 + 3 * (parameters[0] + 12 * 10 + 10));
  EXPECT_EQ(run.ranks[1].back().end - run.ranks[1].back().start, 1000 + 3 * (10 * 5 + 5));
}

TEST(ProfiledStep, UpdatesNothingThatIsFrozen) {
  configs::Config config;
  config.model = {.features = 17,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2}};
  config.optimizer.freeze = {"conv*", "norm1*"};
  const LayerSequence sequence = build_trained_model(config, 9);
  Plan plan{.micro_batches = 1, .ranks = {{0}}};
  ChunkPlan& all = plan.chunks.emplace_back();
  for (const auto& layer : sequence.layers) all.layers.emplace_back(layer->name());
  std::int64_t trained = 0, parameters = 0;
  for (const layers::LayerPlan& layer : plan_without_frames(sequence, {}))
    for (const layers::ParamDecl& param : layer.params) {
      parameters += layers::element_count(param.shape);
      if (!param.frozen()) trained += layers::element_count(param.shape);
    }
  ASSERT_LT(trained, parameters);
  all.predicted.parameters = parameters;
  DeviceProfile profile;
  profile.parameter_s = 3;
  const StepLayout layout = profiled_layout(profile, sequence, plan, 1);
  EXPECT_EQ(layout.step_seconds, std::vector<double>(1, 3.0 * static_cast<double>(trained)));
}

}  // namespace
}  // namespace penstock::partition
