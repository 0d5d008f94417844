#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "layers/models/deepspeech2.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::expect_equal;
using test::train_on_noise;
using test::TrainingJob;
using test::TrainingOutcome;

struct FewBytesCase {
  const char* state;
  const char* kind = "adamw";
  const char* compute = "fp32";
  double larc = 0;
};

class TrainingInFewBytes : public testing::TestWithParam<FewBytesCase> {
 protected:
  /// Two lanes; one parameter has several norm blocks.
  static TrainingJob job() {
    TrainingJob job = test::small_job();
    job.model.family.as<layers::DeepSpeech2Options>().hidden = 110;
    job.optimizer.state = GetParam().state;
    job.optimizer.kind = GetParam().kind;
    job.optimizer.larc = GetParam().larc;
    job.optimizer.weight_decay = 1e-3;
    job.precision.compute = GetParam().compute;
    job.lanes = 2;
    job.steps = 4;
    job.bucket_bytes = 1 << 18;
    return job;
  }
};

TEST_P(TrainingInFewBytes, StagesAndReplicasChangeNoBit) {
  TrainingJob job = TrainingInFewBytes::job();
  test::expect_equal_layouts(job);
}

TEST_P(TrainingInFewBytes, IsCloseToFull) {
  TrainingJob job = TrainingInFewBytes::job();
  const TrainingOutcome few = train_on_noise(job);
  job.optimizer.state = "fp32";
  const TrainingOutcome full = train_on_noise(job);
  EXPECT_EQ(few.losses[0], full.losses[0]);
  EXPECT_NE(few.losses.back(), full.losses.back());
  EXPECT_NEAR(few.losses.back(), full.losses.back(), 0.1 * full.losses.front());
}

INSTANTIATE_TEST_SUITE_P(
    Of, TrainingInFewBytes,
    testing::Values(FewBytesCase{"bf16"}, FewBytesCase{"8bit"},
                    FewBytesCase{"bf16", "lamb", "bf16"}, FewBytesCase{"8bit", "lamb"},
                    FewBytesCase{"bf16", "novograd"}, FewBytesCase{"8bit", "novograd"},
                    FewBytesCase{"bf16", "sgd"}, FewBytesCase{"8bit", "sgd", "fp16", 0.01}),
    [](const auto& info) {
      return fmt::format("{}_{}_{}", info.param.state, info.param.kind, info.param.compute);
    });

// Rolled-back updates draw the same random numbers again.
TEST(TrainingInFewBytes, PostValidationChangesNoBit) {
  for (const char* state : {"bf16", "8bit"})
    for (const char* kind : {"adamw", "sgd"}) {
      TrainingJob job = test::small_job();
      job.optimizer.state = state;
      job.optimizer.kind = kind;
      job.lanes = 2;
      job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
      const TrainingOutcome waiting = train_on_noise(job);
      job.stages = 3;
      job.replicas = 2;
      job.post_validation = true;
      for (const bool shard : {false, true}) {
        job.shard = shard;
        const TrainingOutcome optimistic = train_on_noise(job);
        expect_equal(optimistic, waiting, fmt::format("{}, {}", state, kind));
        EXPECT_GT(optimistic.rolled_back, 0) << state << ", " << kind;
      }
    }
}

TEST(TrainingInFewBytes, FreezingChangesNoBitOverRanks) {
  for (const char* state : {"bf16", "8bit"})
    for (const char* compute : {"fp32", "bf16"}) {
      TrainingJob job = test::small_job();
      job.optimizer.state = state;
      job.optimizer.freeze = {"conv2.*", "rnn1.weight*", "*.bias"};
      job.precision.compute = compute;
      job.lanes = 2;
      job.steps = 4;
      job.bucket_bytes = 512;
      const TrainingOutcome alone = train_on_noise(job);
      for (const auto& [stages, replicas] : {std::pair{3, 1}, {1, 2}, {2, 2}})
        for (const bool shard : {false, true}) {
          if (shard && replicas == 1) continue;
          job.stages = stages;
          job.replicas = replicas;
          job.shard = shard;
          expect_equal(train_on_noise(job), alone,
                       fmt::format("{}, {}, {} × {}{}", state, compute, stages, replicas,
                                   shard ? ", shared" : ""));
        }
    }
}

TEST(TrainingInFewBytes, AGradientThatIsNotFiniteChangesNothing) {
  for (const char* state : {"bf16", "8bit"}) {
    TrainingJob job = test::small_job();
    job.optimizer.state = state;
    job.steps = 2;
    const TrainingOutcome before = train_on_noise(job);
    job.steps = 3;
    job.poisoned_step = 2;
    job.stages = 2;
    EXPECT_EQ(train_on_noise(job).tensors, before.tensors) << state;
  }
}

}  // namespace
}  // namespace penstock::runtime
