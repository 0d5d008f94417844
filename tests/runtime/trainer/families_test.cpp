#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/models/transformer.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/runtime/small_families.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

/// Models with dropout and layer drop, run as small_job().
class FamilyTraining : public testing::TestWithParam<test::SmallFamily> {
 protected:
  static TrainingJob job() {
    TrainingJob job = test::small_job();
    job.model = GetParam().model();
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

// A larger weight of losses after blocks changes what is learnt, and no loss of the same weights.
TEST(AuxiliaryLosses, AreNoPartOfTheReportedLoss) {
  for (const double ctc_weight : {0.0, 0.3}) {
    std::vector<std::vector<double>> losses;
    for (const double weight : {0.0, 5.0}) {
      TrainingJob job = test::small_job();
      job.model = {.features = 9,
                   .decoder = "rnnt",
                   .family = layers::TransformerOptions{.channels = 5,
                                                        .width = 12,
                                                        .heads = 3,
                                                        .layers = 2,
                                                        .inner = 20,
                                                        .intermediate = {{1}, weight}},
                   .networks = {.width = 7, .joint = 9, .ctc_weight = ctc_weight}};
      job.steps = 3;
      job.recompute = true;  // losses are computed again after the last layer's
      losses.push_back(train_on_noise(job).losses);
    }
    EXPECT_EQ(losses[0].front(), losses[1].front());
    EXPECT_NE(losses[0].back(), losses[1].back());
  }
}

TEST_P(FamilyTraining, Learns) {
  TrainingJob job = this->job();
  job.steps = 20;
  const TrainingOutcome outcome = train_on_noise(job);
  EXPECT_LT(outcome.losses.back(), outcome.losses.front());
}

INSTANTIATE_TEST_SUITE_P(Of, FamilyTraining, testing::ValuesIn(test::small_families()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace penstock::runtime
