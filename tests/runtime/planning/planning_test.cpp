#include "runtime/planning/planning.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

configs::ModelConfig small_model() {
  return {.features = 17,
          .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 1}};
}

configs::Config small_recipe() {
  configs::Config config;
  config.model = small_model();
  config.text.alphabet = "abc";
  config.pipeline.stages = 2;
  config.pipeline.replicas = 2;
  config.trainer.lanes = 3;
  return config;
}

const RunShape kShape = {{{61, 40}, {75}, {31, 29, 7}}, 4};

TEST(Planning, CutsForTheRecipesStagesReplicasAndLanes) {
  const configs::Config config = small_recipe();
  const partition::LayerSequence sequence = partition::build_model(config.model, kShape.labels);
  const partition::Plan plan =
      plan_run(sequence, config, kShape, computed_costs(sequence, config, kShape));
  EXPECT_EQ(plan.stages(), 2);
  EXPECT_EQ(plan.replicas(), 2);
  EXPECT_EQ(plan.lanes, 3);
  EXPECT_EQ(plan.chunks.back().last(), sequence.size());
  EXPECT_EQ(plan.chunks.front().predicted.bytes.gradients,
            2 * plan.chunks.front().predicted.bytes.weights);  // the busiest replica has two lanes
  EXPECT_EQ(plan.model, partition::model_summary(config.model, kShape.labels));
}

TEST(Planning, MeasuresEveryLayer) {
  const configs::Config config = small_recipe();
  const partition::LayerSequence sequence = partition::build_model(config.model, kShape.labels);
  const auto costs = measured_costs(sequence, config, kShape);
  ASSERT_EQ(costs.size(), sequence.layers.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    EXPECT_EQ(costs[i].layer, sequence.layers[i]->name());
    EXPECT_GT(costs[i].total(), 0) << costs[i].layer;
  }
}

TEST(Planning, MeasuresDecodersWithFewPositions) {
  configs::Config config = small_recipe();
  config.model.decoder = "attention";
  config.model.networks = {
      .width = 8, .layers = 1, .heads = 2, .inner = 6, .positions = "learned", .max_positions = 3};
  const partition::LayerSequence sequence = partition::build_model(config.model, kShape.labels);
  EXPECT_EQ(measured_costs(sequence, config, kShape).size(), sequence.layers.size());
}

TEST(Planning, ComputesCostsFromTheDevicesRates) {
  const partition::LayerSequence sequence = partition::build_model(small_model(), kShape.labels);
  configs::Config config = small_recipe();
  for (const auto& [name, kind] :
       {std::pair{"cpu", layers::DeviceKind::cpu}, {"cuda", layers::DeviceKind::cuda}}) {
    config.trainer.device = name;
    const layers::BackendSizes sizes{kind, layers::DType::f32};
    const auto found = computed_costs(sequence, config, kShape);
    const auto expected = partition::analytic_costs(sequence, kShape.micro_batches[1], sizes,
                                                    partition::default_rates(sizes));
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i].total(), expected[i].total()) << name << ", " << found[i].layer;
  }
}

TEST(Planning, RecognisesForwardAndWithoutTextsWithoutTheLoss) {
  const partition::LayerSequence sequence = partition::build_model(small_model(), kShape.labels);
  const configs::Config config = small_recipe();
  const auto whole = computed_costs(sequence, config, kShape);
  const auto scored = recognition_costs(sequence, config, kShape, true);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(scored[i].forward, whole[i].forward);
    EXPECT_EQ(scored[i].total(), whole[i].forward);
  }
  EXPECT_EQ(recognition_costs(sequence, config, kShape, false).back().total(), 0);
}

TEST(Planning, AloneKeepsLanesAndHasAllRanksMemory) {
  configs::Config config = small_recipe();
  config.pipeline.memory_gib = 1.5;
  const configs::Config one = alone(config);
  EXPECT_EQ(one.pipeline.stages, 1);
  EXPECT_EQ(one.pipeline.replicas, 1);
  EXPECT_EQ(one.trainer.lanes, 3);
  EXPECT_EQ(one.pipeline.memory_gib, 6);
}

/// A recipe, the plan file that it names, and what both are for.
class PlanFileOfARecipe : public testing::Test {
 protected:
  PlanFileOfARecipe() {
    config_.model = {
        .features = 17,
        .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 12, .layers = 2}};
    config_.text.alphabet = "abcd";
    config_.pipeline.stages = 2;
    sequence_ = partition::build_model(config_.model, shape_.labels);
    plan_ = plan_run(sequence_, config_, shape_, computed_costs(sequence_, config_, shape_));
    config_.pipeline.plan = (folder_.path() / "plan.toml").string();
    partition::write_plan(config_.pipeline.plan, plan_);
  }
  partition::Plan planned() const {
    return plan_run(sequence_, with_plan_file(config_), shape_,
                    computed_costs(sequence_, config_, shape_));
  }

  const test::TemporaryFolder folder_;
  const RunShape shape_{{{61, 23}, {40}}, 5, {4, {2, 84, 61}}};
  configs::Config config_;
  partition::LayerSequence sequence_;
  partition::Plan plan_;
};

TEST_F(PlanFileOfARecipe, IsTakenAsItIs) {
  config_.pipeline.stages = 1;
  EXPECT_EQ(with_plan_file(config_).pipeline.stages, 2);
  EXPECT_EQ(planned(), plan_);
}

TEST_F(PlanFileOfARecipe, GetsPredictionsOfItsOwn) {
  const partition::Plan before = plan_;
  plan_.chunks[0].layers.push_back(plan_.chunks[1].layers.front());
  plan_.chunks[1].layers.erase(plan_.chunks[1].layers.begin());
  partition::write_plan(config_.pipeline.plan, plan_);
  const partition::Plan moved = planned();
  EXPECT_GT(moved.chunks[0].predicted.time_share, before.chunks[0].predicted.time_share);
  EXPECT_LT(moved.chunks[1].predicted.time_share, before.chunks[1].predicted.time_share);
  EXPECT_NE(moved.chunks[1].predicted.bytes, before.chunks[1].predicted.bytes);
}

TEST_F(PlanFileOfARecipe, SaysWhichLayersAreRecomputed) {
  config_.pipeline.recompute = "stage";
  EXPECT_EQ(with_plan_file(config_).pipeline.recompute, "none");  // as it was planned
  plan_.chunks[0].recomputed = {"norm1", "conv2"};
  partition::write_plan(config_.pipeline.plan, plan_);
  const configs::PipelineConfig pipeline = with_plan_file(config_).pipeline;
  EXPECT_EQ(pipeline.recompute, "layers");
  EXPECT_EQ(pipeline.recompute_layers, (std::vector<std::string>{"norm1", "conv2"}));
  const partition::Plan again = planned();
  EXPECT_EQ(again.recomputed(), plan_.recomputed());
  EXPECT_LT(again.bytes_of(0).saved, plan_.bytes_of(0).saved);
  EXPECT_GT(again.chunks[0].predicted.time_share, plan_.chunks[0].predicted.time_share);

  for (partition::ChunkPlan& chunk : plan_.chunks) chunk.recomputed.reset();  // the recipe says
  partition::write_plan(config_.pipeline.plan, plan_);
  EXPECT_EQ(with_plan_file(config_).pipeline.recompute, "stage");
}

TEST_F(PlanFileOfARecipe, SaysWhetherUnitsRemake) {
  plan_.recomputes_within = true;
  plan_.chunks[0].recomputed = {"norm1"};
  partition::write_plan(config_.pipeline.plan, plan_);
  configs::PipelineConfig pipeline = with_plan_file(config_).pipeline;  // of a recipe with none
  EXPECT_EQ(pipeline.recompute, "selective");
  EXPECT_EQ(pipeline.recompute_layers, std::vector<std::string>{"norm1"});
  EXPECT_EQ(planned().recomputes_within, std::optional(true));

  config_.pipeline.recompute = "selective";
  plan_.recomputes_within = false;
  partition::write_plan(config_.pipeline.plan, plan_);
  pipeline = with_plan_file(config_).pipeline;
  EXPECT_EQ(pipeline.recompute, "layers");
  plan_.recomputes_within.reset();  // the recipe says
  partition::write_plan(config_.pipeline.plan, plan_);
  EXPECT_EQ(with_plan_file(config_).pipeline.recompute, "selective");
  EXPECT_EQ(with_plan_file(config_).pipeline.recompute_layers, std::vector<std::string>{"norm1"});
}

TEST_F(PlanFileOfARecipe, SaysWhetherReplicasShareTheUpdate) {
  EXPECT_EQ(plan_.shards_optimizer, std::optional(false));
  EXPECT_FALSE(with_plan_file(config_).pipeline.shard_optimizer);
  config_.pipeline.shard_optimizer = true;
  EXPECT_FALSE(with_plan_file(config_).pipeline.shard_optimizer);  // there is nobody to share with
  plan_.lanes = 2;
  plan_.ranks = {{0, 1}, {2, 3}};
  partition::write_plan(config_.pipeline.plan, plan_);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)with_plan_file(config_);
            }).find("has no sharded optimizer, but the recipe has pipeline.shard_optimizer"),
            std::string::npos);
  plan_.shards_optimizer.reset();  // the recipe says
  partition::write_plan(config_.pipeline.plan, plan_);
  EXPECT_TRUE(with_plan_file(config_).pipeline.shard_optimizer);
  plan_.shards_optimizer = true;
  partition::write_plan(config_.pipeline.plan, plan_);
  config_.pipeline.shard_optimizer = false;
  EXPECT_TRUE(with_plan_file(config_).pipeline.shard_optimizer);
  const partition::Plan shared = planned();
  EXPECT_EQ(shared.shards_optimizer, std::optional(true));
  EXPECT_GT(shared.bytes_of(0).sharded_away, 0u);
}

TEST_F(PlanFileOfARecipe, SaysWhatStaysOnTheDevice) {
  config_.pipeline.resident = 3;
  EXPECT_EQ(with_plan_file(config_).pipeline.resident, 3);  // the recipe says
  plan_.resident = 3;
  partition::write_plan(config_.pipeline.plan, plan_);
  EXPECT_EQ(with_plan_file(config_).pipeline.resident, 3);
  config_.pipeline.resident = 0;
  EXPECT_EQ(with_plan_file(config_).pipeline.resident, 3);
  config_.pipeline.resident = 2;
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)with_plan_file(config_);
            }).find("has resident = 3, but the recipe has pipeline.resident = 2"),
            std::string::npos);
}

TEST_F(PlanFileOfARecipe, DividesAStepThatTheRecipeHolds) {
  const auto with_plan = [&](double seconds, int number) {
    plan_.micro_batch_seconds = seconds;
    plan_.micro_batches = number;
    partition::write_plan(config_.pipeline.plan, plan_);
    return with_plan_file(config_).data;
  };
  const auto refused = [&](double seconds, int number) {
    return test::message_of<ConfigError>([&] { (void)with_plan(seconds, number); });
  };
  EXPECT_EQ(with_plan(16, 8).micro_batches, 8);  // a recipe that names neither: 128 s
  EXPECT_EQ(with_plan(16, 8).micro_batch_seconds, 16);
  EXPECT_NE(refused(16, 16).find("data.micro_batches = 4"), std::string::npos);
  config_.data.batch_seconds = 90;
  config_.data.micro_batch_seconds = 30;
  config_.data.micro_batches = 3;
  EXPECT_EQ(with_plan(90.0 / 7, 7).micro_batches, 7);
  EXPECT_EQ(with_plan(90.0 / 7, 7).micro_batch_seconds, 90.0 / 7);
  EXPECT_NE(refused(16, 8).find("is for 128 s of audio a step, but the recipe has "
                                "data.batch_seconds = 90"),
            std::string::npos);
  config_.data.batch_seconds = 0;
  EXPECT_NE(refused(45, 2).find("data.micro_batches = 3"), std::string::npos);
  EXPECT_NE(refused(45, 3).find("data.micro_batch_seconds = 30"), std::string::npos);
  EXPECT_EQ(with_plan(0, 3).micro_batch_seconds, 30);  // of an older file
}

TEST_F(PlanFileOfARecipe, MustFitItsMemory) {
  config_.pipeline.memory_gib = 1e-4;
  const std::string message = test::message_of<ConfigError>([&] { planned(); });
  for (const std::string& part :
       {plan_.chunks[0].layers.back(), std::string("memory_gib"), std::string("allows 0.0001")})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(PlanFileOfARecipe, MustAgreeOnMicroBatchesAndLanes) {
  config_.data.micro_batches = 6;
  std::string message = test::message_of<ConfigError>([&] { (void)with_plan_file(config_); });
  EXPECT_NE(message.find("plan.toml is for 4 micro-batches a step"), std::string::npos) << message;
  EXPECT_NE(message.find("data.micro_batches = 6"), std::string::npos) << message;
  config_.data.micro_batches = 4;
  config_.trainer.lanes = 3;
  message = test::message_of<ConfigError>([&] { (void)with_plan_file(config_); });
  EXPECT_NE(message.find("trainer.lanes = 3"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
