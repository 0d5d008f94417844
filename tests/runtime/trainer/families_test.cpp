#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/models/conformer.h"
#include "layers/models/transformer.h"
#include "layers/models/wav2letter.h"
#include "layers/models/wav2vec2.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

struct Family {
  const char* name;
  layers::ModelFamily options;
  int features = 17;
};

/// Models of residual units, with dropout and layer drop, run as small_job().
class FamilyTraining : public testing::TestWithParam<Family> {
 protected:
  static TrainingJob job() {
    TrainingJob job = test::small_job();
    job.model = {.features = GetParam().features, .family = GetParam().options};
    job.optimizer.learning_rate = 0.003;
    job.steps = 5;
    job.lanes = 2;
    return job;
  }
};

TEST_P(FamilyTraining, SchedulesChangeNoBit) {
  TrainingJob job = this->job();
  for (std::string_view schedule : partition::all_schedule_names()) {
    job.order.clear();
    if (schedule == partition::kFound) job.order = {3, 0, 4, 1, 2};
    job.stages = 1;
    job.schedule = "1f1b";
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = schedule;
    job.stages = 3;
    expect_equal(train_on_noise(job), alone, std::string(schedule));
  }
}

TEST_P(FamilyTraining, ReplicasAndHalvesChangeNoBit) {
  for (const char* compute : {"fp32", "bf16"}) {
    TrainingJob job = this->job();
    job.precision.compute = compute;
    const TrainingOutcome alone = train_on_noise(job);
    job.stages = 2;
    job.replicas = 2;
    for (bool shard : {false, true}) {
      job.shard = shard;
      expect_equal(train_on_noise(job), alone,
                   fmt::format("{}{}", compute, shard ? ", shared" : ""));
    }
  }
}

TEST_P(FamilyTraining, RecomputationChangesNoBit) {
  TrainingJob job = this->job();
  const TrainingOutcome alone = train_on_noise(job);
  job.stages = 2;
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    job.schedule = schedule;
    job.recompute = true;
    expect_equal(train_on_noise(job), alone, fmt::format("{}, all layers", schedule));
    job.recompute = false;
    job.recomputed_layers = {5, 6, 8};
    expect_equal(train_on_noise(job), alone, fmt::format("{}, some layers", schedule));
    job.recomputed_layers.clear();
  }
}

TEST_P(FamilyTraining, SelectiveRecomputationChangesNoBit) {
  for (const char* compute : {"fp32", "bf16"}) {
    TrainingJob job = this->job();
    job.precision.compute = compute;
    const TrainingOutcome alone = train_on_noise(job);
    job.stages = 2;
    job.selective = true;
    for (const char* schedule : {"1f1b", "zb-h1"}) {
      job.schedule = schedule;
      expect_equal(train_on_noise(job), alone, fmt::format("{}, {}", compute, schedule));
    }
    job.recomputed_layers = {5, 6, 8};  // of whole layers besides
    expect_equal(train_on_noise(job), alone, fmt::format("{}, some layers", compute));
  }
}

TEST_P(FamilyTraining, Learns) {
  TrainingJob job = this->job();
  job.steps = 20;
  const TrainingOutcome outcome = train_on_noise(job);
  EXPECT_LT(outcome.losses.back(), outcome.losses.front());
}

const auto kFamilyName = [](const testing::TestParamInfo<Family>& tested) {
  return std::string(tested.param.name);
};

INSTANTIATE_TEST_SUITE_P(
    OfConformers, FamilyTraining,
    testing::Values(Family{"conformer", layers::ConformerOptions{.width = 12,
                                                                 .heads = 3,
                                                                 .layers = 2,
                                                                 .kernel = 5,
                                                                 .dropout = 0.1,
                                                                 .layer_drop = 0.3}},
                    Family{"fastconformer", layers::ConformerOptions{.width = 12,
                                                                     .heads = 3,
                                                                     .layers = 2,
                                                                     .kernel = 5,
                                                                     .subsampling = 8,
                                                                     .channels = 5,
                                                                     .scale_input = true,
                                                                     .attention_bias = false,
                                                                     .dropout = 0.1,
                                                                     .input_dropout = 0.1,
                                                                     .output_dropout = false}},
                    Family{"absolute_conformer", layers::ConformerOptions{.width = 12,
                                                                          .heads = 3,
                                                                          .layers = 2,
                                                                          .kernel = 5,
                                                                          .positions = "absolute",
                                                                          .scale_input = true,
                                                                          .dropout = 0.1,
                                                                          .input_dropout = 0.1}}),
    kFamilyName);

INSTANTIATE_TEST_SUITE_P(
    Of, FamilyTraining,
    testing::Values(Family{"transformer", layers::TransformerOptions{.channels = 5,
                                                                     .width = 12,
                                                                     .heads = 3,
                                                                     .layers = 2,
                                                                     .inner = 20,
                                                                     .dropout = 0.1,
                                                                     .layer_drop = 0.3}},
                    Family{"absolute_transformer",
                           layers::TransformerOptions{.channels = 5,
                                                      .width = 12,
                                                      .heads = 3,
                                                      .layers = 2,
                                                      .inner = 20,
                                                      .positions = "absolute",
                                                      .dropout = 0.1}},
                    Family{"wav2vec2",
                           layers::Wav2Vec2Options{.channels = 6,
                                                   .kernels = {3, 2},
                                                   .strides = {2, 1},
                                                   .width = 12,
                                                   .heads = 3,
                                                   .layers = 2,
                                                   .inner = 20,
                                                   .position_kernel = 6,
                                                   .position_groups = 3,
                                                   .dropout = 0.1,
                                                   .layer_drop = 0.3},
                           1},
                    Family{"wav2letter", layers::Wav2LetterOptions{.channels = {5, 7},
                                                                   .kernels = {3, 4},
                                                                   .repeats = {1, 2},
                                                                   .strides = {2, 1},
                                                                   .dilations = {1, 2},
                                                                   .dropouts = {0.1, 0}}}),
    kFamilyName);

}  // namespace
}  // namespace penstock::runtime
