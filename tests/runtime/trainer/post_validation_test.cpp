#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "partition/schedule/make_schedule.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

TrainingJob decaying_job() {
  TrainingJob job = test::small_job();
  job.optimizer.weight_decay = 1e-3;
  job.lanes = 2;
  return job;
}

/// Every number of both runs, of which the second updated optimistically and rolled some back.
void expect_same_numbers(const TrainingOutcome& waiting, const TrainingOutcome& optimistic,
                         const std::string& what) {
  EXPECT_EQ(waiting.optimistic, 0) << what;
  EXPECT_EQ(waiting.losses, optimistic.losses) << what;
  EXPECT_EQ(waiting.norms, optimistic.norms) << what;
  EXPECT_EQ(waiting.scales, optimistic.scales) << what;
  EXPECT_EQ(waiting.tensors, optimistic.tensors) << what;
}

class ScheduledPostValidation : public testing::TestWithParam<std::string_view> {};

TEST_P(ScheduledPostValidation, ChangesNoBit) {
  TrainingJob job = decaying_job();
  if (GetParam() == partition::kFound) job.order = {3, 0, 4, 1, 2};
  job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
  const TrainingOutcome waiting = train_on_noise(job);
  job.schedule = GetParam();
  job.post_validation = true;
  for (const auto& [stages, replicas] : {std::pair{1, 2}, {2, 1}, {3, 1}, {4, 1}, {2, 2}, {3, 2}}) {
    job.stages = stages;
    job.replicas = replicas;
    const std::size_t chunks = partition::chunk_ranks(job.schedule, stages).size();
    if (std::cmp_greater(chunks, partition::build_model(job.model, job.labels).size())) continue;
    const TrainingOutcome optimistic = train_on_noise(job);
    const std::string what = fmt::format("{} × {}", stages, replicas);
    expect_same_numbers(waiting, optimistic, what);
    EXPECT_GT(optimistic.rolled_back, 0) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ScheduledPostValidation,
                         testing::ValuesIn(partition::all_schedule_names()), [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class PostValidationIn : public testing::TestWithParam<const char*> {};

TEST_P(PostValidationIn, ChangesNoBitWithOrWithoutShards) {
  for (const char* kind : {"adamw", "sgd"}) {
    TrainingJob job = decaying_job();
    job.precision.compute = GetParam();
    job.optimizer.kind = kind;
    job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
    const TrainingOutcome waiting = train_on_noise(job);
    job.stages = 3;
    job.replicas = 2;
    job.post_validation = true;
    for (const bool shard : {false, true}) {
      job.shard = shard;
      const TrainingOutcome optimistic = train_on_noise(job);
      expect_same_numbers(waiting, optimistic, kind);
      EXPECT_GT(optimistic.rolled_back, 0) << kind;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PostValidationIn, testing::Values("fp32", "fp16", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

// One of six replicas has none of five micro-batches.
TEST(PostValidation, ChangesNoBitWhereAReplicaIsIdle) {
  TrainingJob job = decaying_job();
  job.lanes = 6;
  job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
  const TrainingOutcome waiting = train_on_noise(job);
  job.replicas = 6;
  job.post_validation = true;
  for (const int stages : {1, 2}) {
    job.stages = stages;
    const TrainingOutcome optimistic = train_on_noise(job);
    expect_same_numbers(waiting, optimistic, fmt::format("{} stages", stages));
    EXPECT_GT(optimistic.rolled_back, 0) << stages;
  }
}

// One layer's gradient overflows, which no rank but its own can know when it updates.
TEST(PostValidation, RollsBackRanksWithoutTheOverflow) {
  for (const int step : {7, 19})
    for (const char* compute : {"fp32", "fp16"}) {
      TrainingJob job = decaying_job();
      job.precision.compute = compute;
      job.precision.loss_scaling = "backoff";
      job.poisoned_layer = 3;
      job.poisoned_call = 5 * step + 2;
      const TrainingOutcome waiting = train_on_noise(job);
      EXPECT_FALSE(std::isfinite(waiting.norms.at(step))) << compute;
      job.post_validation = true;
      for (const int stages : {2, 3}) {
        job.stages = stages;
        const TrainingOutcome optimistic = train_on_noise(job);
        EXPECT_EQ(optimistic.losses, waiting.losses) << compute << step;
        EXPECT_EQ(optimistic.tensors, waiting.tensors) << compute << step;
        EXPECT_EQ(optimistic.scales, waiting.scales) << compute << step;
        EXPECT_GT(optimistic.rolled_back, 0) << compute << step;
      }
    }
}

// The gradient is NaN in a step whose update was optimistic; the last step, which no other
// follows, and one in the middle, from which training goes on.
TEST(PostValidation, RollsBackAnUpdateToBeSkipped) {
  for (const int poisoned : {7, 19}) {
    TrainingJob job = decaying_job();
    job.poisoned_step = poisoned;
    job.precision.compute = "fp16";
    job.precision.loss_scaling = "backoff";
    const TrainingOutcome waiting = train_on_noise(job);
    EXPECT_FALSE(std::isfinite(waiting.norms.at(poisoned)));
    job.post_validation = true;
    job.stages = 3;
    job.replicas = 2;
    const TrainingOutcome optimistic = train_on_noise(job);
    EXPECT_EQ(optimistic.tensors, waiting.tensors);
    EXPECT_EQ(optimistic.scales, waiting.scales);
    ASSERT_EQ(optimistic.losses.size(), waiting.losses.size());
    for (std::size_t step = 0; step < waiting.losses.size(); ++step)
      if (static_cast<int>(step) != poisoned) {
        EXPECT_EQ(optimistic.losses[step], waiting.losses[step]) << step;
      }
    EXPECT_GT(optimistic.rolled_back, 0);
  }
}

TEST(PostValidation, TrustsOnlyAfterPlainSteps) {
  TrainingJob job = decaying_job();
  job.stages = 2;
  job.post_validation = true;
  job.optimizer.clip_norm = 1e-3;  // every step is clipped
  EXPECT_EQ(train_on_noise(job).optimistic, 0);
  job.optimizer.clip_norm = 0;  // none is
  const TrainingOutcome trusting = train_on_noise(job);
  job.post_validation = false;
  expect_same_numbers(train_on_noise(job), trusting, "all stand");
  EXPECT_EQ(trusting.optimistic, job.steps - 2);
  EXPECT_EQ(trusting.rolled_back, 0);
}

// Nobody's result is missing.
TEST(PostValidation, IsForSeveralRanks) {
  TrainingJob job = decaying_job();
  job.post_validation = true;
  EXPECT_EQ(train_on_noise(job).optimistic, 0);
}

}  // namespace
}  // namespace penstock::runtime
