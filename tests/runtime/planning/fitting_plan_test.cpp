#include "runtime/planning/fitting_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

class FittingPlan : public testing::Test {
 protected:
  FittingPlan() {
    config_.model = {
        .features = 17,
        .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 96, .layers = 3}};
    config_.text.alphabet = "abc";
    config_.trainer.device = "cpu";
    config_.trainer.lanes = 1;
    config_.data.micro_batch_seconds = 16;
    config_.trainer.steps = 3;
  }

  RunShape shape_of(const configs::Config& config) const {
    const StepSequence steps({lengths_, config.data, config.features, 1, config.trainer.lanes});
    return shape_of_run(config, steps, {}, 4);
  }
  std::size_t fullest(const configs::Config& config) const {
    const RunShape shape = shape_of(config);
    const partition::Plan plan =
        plan_run(sequence_, config, shape, computed_costs(sequence_, config, shape));
    std::size_t bytes = 0;
    for (const partition::ChunkPlan& chunk : plan.chunks)
      bytes = std::max(bytes, chunk.predicted.bytes.total());
    return bytes;
  }
  std::string advice(std::size_t bytes) const {
    return fitting_plan(
        sequence_, config_, [this](const configs::Config& c) { return shape_of(c); }, bytes);
  }

  configs::Config config_;
  std::vector<AudioLength> lengths_ = std::vector<AudioLength>(40, {4000, 16000});
  partition::LayerSequence sequence_ = partition::build_model(
      {.features = 17,
       .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 96, .layers = 3}},
      4);
};

TEST_F(FittingPlan, NamesTheFewestStagesThatDo) {
  configs::Config three = config_;
  three.pipeline.stages = 3;
  const std::size_t enough = fullest(three);
  three.pipeline.memory_gib = static_cast<double>(enough) / (1 << 30);
  const std::string text = advice(enough);
  EXPECT_EQ(text.find("pipeline.stages = "), 0u) << text;
  three.pipeline.stages = text.at(std::string("pipeline.stages = ").size()) - '0';
  EXPECT_GT(three.pipeline.stages, 1);
  EXPECT_LE(three.pipeline.stages, 3);
  EXPECT_LE(fullest(three), enough);
}

TEST_F(FittingPlan, NamesSmallerMicroBatches) {
  configs::Config smaller = config_;
  smaller.data.micro_batch_seconds = 2;
  const std::string text = advice(fullest(smaller));
  EXPECT_NE(text.find("data.micro_batch_seconds = 2 (at most "), std::string::npos) << text;
}

TEST_F(FittingPlan, SaysThatNothingFits) {
  EXPECT_EQ(advice(1000), "neither more stages nor smaller micro-batches fit");
}

}  // namespace
}  // namespace penstock::runtime
