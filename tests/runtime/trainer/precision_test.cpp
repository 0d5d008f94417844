// Training in halves over FP32 masters, on real steps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

constexpr int kMicroBatches = 5;  // of ragged_work

TrainingJob small_job(const std::string& compute, const std::string& loss_scaling = "backoff") {
  TrainingJob job = test::small_job();
  job.precision = {.compute = compute, .loss_scaling = loss_scaling, .scale = 64};
  return job;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Precision, StagesAndReplicasChangeNoBit) {
  for (const char* compute : {"fp16", "bf16"}) {
    TrainingJob job = small_job(compute, "logmax");
    job.steps = 20;
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    for (int stages : {2, 3})
      for (int replicas : {1, 2}) {
        job.stages = stages;
        job.replicas = replicas;
        EXPECT_EQ(train_on_noise(job), alone) << compute << ", " << stages << " × " << replicas;
      }
  }
}

// 2^-11 and 2^-9 are half a spacing of fp16 and bf16 numbers at 1.
TEST(Precision, LossesStayNearThoseOfFp32) {
  TrainingJob job = small_job("fp32");
  job.steps = 12;
  const double expected = mean(train_on_noise(job).losses);
  for (const auto& [compute, spacing] : {std::pair{"fp16", 0x1p-11}, std::pair{"bf16", 0x1p-9}}) {
    job.precision.compute = compute;
    const TrainingOutcome halves = train_on_noise(job);
    EXPECT_NEAR(mean(halves.losses) / expected, 1, 10 * spacing) << compute;
    EXPECT_NE(mean(halves.losses), expected) << compute << ": nothing was rounded";
  }
}

TEST(Precision, AStaticScaleIsDividedOutAgain) {
  TrainingJob job = small_job("fp16", "static");
  job.steps = 1;
  const TrainingOutcome at_64 = train_on_noise(job);
  job.precision.scale = 128;
  const TrainingOutcome at_128 = train_on_noise(job);
  EXPECT_EQ(at_64.scales, std::vector<double>{64});
  EXPECT_EQ(at_64.losses, at_128.losses);
  EXPECT_NEAR(at_64.norms[0] / at_128.norms[0], 1, 1e-3);  // subnormal gradients differ
}

// Step 1 of 3 overflows in one layer and one micro-batch: it must be as if it had not been, but for
// the scale.
TEST(Precision, OverflowAnywhereSkipsTheStepOnAllRanks) {
  TrainingJob job = small_job("fp16");
  job.steps = 1;
  const TrainingOutcome before = train_on_noise(job);
  const int layers = static_cast<int>(partition::build_model(job.model, job.labels).layers.size());
  job.steps = 2;
  job.stages = 3;
  for (int layer = 0; layer < layers; ++layer)
    for (int micro_batch = 0; micro_batch < kMicroBatches; ++micro_batch) {
      job.poisoned_layer = layer;
      job.poisoned_call = kMicroBatches + micro_batch;
      const TrainingOutcome after = train_on_noise(job);
      const std::string where = fmt::format("layer {}, micro-batch {}", layer, micro_batch);
      EXPECT_FALSE(std::isfinite(after.norms[1])) << where;
      EXPECT_EQ(after.tensors, before.tensors) << where;
    }
}

TEST(Precision, BackoffHalvesTheScaleAfterAnOverflow) {
  TrainingJob job = small_job("fp16");
  job.steps = 3;
  job.poisoned_layer = 0;
  job.poisoned_call = kMicroBatches;
  const TrainingOutcome outcome = train_on_noise(job);
  EXPECT_EQ(outcome.scales, (std::vector<double>{16384, 16384, 8192}));
}

}  // namespace
}  // namespace penstock::runtime
