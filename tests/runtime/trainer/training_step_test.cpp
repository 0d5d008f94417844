#include "runtime/trainer/training_step.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "layers/models/deepspeech2.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::small_job;
using test::TrainingJob;
using test::TrainingOutcome;

/// Found lists come with an order, which one stage then has as well.
class ScheduledTrainingStep : public testing::TestWithParam<std::string_view> {
 protected:
  static TrainingJob ordered(TrainingJob job) {
    if (GetParam() == partition::kFound) job.order = {3, 0, 4, 1, 2};
    return job;
  }
};

/// Whether each chunk has a layer: sixteen are too many.
bool has_layers_for(const TrainingJob& job) {
  const std::size_t chunks = partition::chunk_ranks(job.schedule, job.stages).size();
  return std::cmp_less_equal(chunks, partition::build_model(job.model, job.labels).size());
}

TEST_P(ScheduledTrainingStep, StagesChangeNoBit) {
  TrainingJob job = ordered(small_job());
  const TrainingOutcome alone = train_on_noise(job);
  EXPECT_LT(alone.losses.back(), alone.losses.front());
  job.schedule = GetParam();
  for (int stages : {1, 2, 3, 4}) {
    job.stages = stages;
    if (!has_layers_for(job)) continue;
    expect_equal(train_on_noise(job), alone, fmt::format("{} stages", stages));
  }
}

// Five micro-batches in two lanes: replicas have three and two, fewer than four stages.
TEST_P(ScheduledTrainingStep, ReplicasChangeNoBit) {
  for (const char* compute : {"fp32", "fp16"}) {
    TrainingJob job = ordered(small_job());
    job.optimizer.kind = "lamb";
    job.optimizer.weight_decay = 1e-3;
    job.precision.compute = compute;
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = GetParam();
    for (int stages : {2, 3, 4}) {
      job.stages = stages;
      if (!has_layers_for(job)) continue;
      for (int replicas : {1, 2})
        for (bool shard : {false, true}) {
          if (replicas == 1 && shard) continue;
          job.replicas = replicas;
          job.shard = shard;
          job.bucket_bytes = stages == 3 ? 1 << 20 : 256 << stages;
          expect_equal(train_on_noise(job), alone,
                       fmt::format("{}, {} stages × {} replicas{}", compute, stages, replicas,
                                   shard ? " that share" : ""));
        }
    }
  }
}

TEST_P(ScheduledTrainingStep, RecomputationChangesNoBit) {
  for (const char* compute : {"fp32", "bf16"}) {
    TrainingJob job = ordered(small_job());
    job.precision.compute = compute;
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = GetParam();
    job.recompute = true;
    for (int stages : {1, 2, 3})
      for (int replicas : {1, 2}) {
        job.stages = stages;
        job.replicas = replicas;
        expect_equal(train_on_noise(job), alone,
                     fmt::format("{}, {} stages × {} replicas", compute, stages, replicas));
      }
  }
}

TEST_P(ScheduledTrainingStep, RecomputationOfSomeLayersChangesNoBit) {
  for (const char* compute : {"fp32", "fp16"}) {
    TrainingJob job = small_job();
    job.precision.compute = compute;
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = GetParam();
    const int layers = partition::build_model(job.model, job.labels).size();
    const std::vector<std::vector<int>> choices = {
        {0, 3, 4, layers - 1}, {1, 2, 3, 5, 7, layers - 3}, {2, layers - 2}};
    for (const auto& chosen : choices) {
      job.recomputed_layers = chosen;
      for (const auto& [stages, replicas] : {std::pair{1, 1}, {2, 2}, {3, 1}}) {
        job.stages = stages;
        job.replicas = replicas;
        job.shard = replicas > 1;
        expect_equal(train_on_noise(job), alone,
                     fmt::format("{}, {} stages, from layer {}", compute, stages, chosen.front()));
      }
    }
  }
}

// One, two or three of a chunk's five micro-batches stay; some are recomputed besides.
TEST_P(ScheduledTrainingStep, OffloadChangesNoBit) {
  struct Layout {
    int resident, stages, replicas;
  };
  for (const char* compute : {"fp32", "fp16"}) {
    TrainingJob job = ordered(small_job());
    job.precision.compute = compute;
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = GetParam();
    for (const auto& [resident, stages, replicas] :
         {Layout{1, 1, 1}, {1, 3, 1}, {2, 2, 2}, {3, 2, 1}}) {
      job.resident = resident;
      job.stages = stages;
      job.replicas = replicas;
      job.shard = replicas > 1;
      job.recompute = resident == 2;
      if (resident == 3) job.recomputed_layers = {1, 2, 5};
      expect_equal(train_on_noise(job), alone,
                   fmt::format("{}, {} stages × {} replicas, {} resident", compute, stages,
                               replicas, resident));
    }
  }
}

TEST_P(ScheduledTrainingStep, ChangesNothingForAnyOptimizer) {
  for (const char* kind : {"novograd", "sgd"}) {
    TrainingJob job = ordered(small_job());
    job.optimizer.kind = kind;
    job.optimizer.larc = job.optimizer.kind == "sgd" ? 0.01 : 0;
    job.precision.compute = "bf16";
    job.lanes = 3;
    const TrainingOutcome alone = train_on_noise(job);
    job.schedule = GetParam();
    job.stages = 2;
    job.replicas = 3;
    job.shard = true;
    expect_equal(train_on_noise(job), alone, kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ScheduledTrainingStep,
                         testing::ValuesIn(partition::all_schedule_names()), [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TrainingStep, AnotherOrderShows) {
  TrainingJob job = small_job();
  const TrainingOutcome sampled = train_on_noise(job);
  job.order = {3, 0, 4, 1, 2};
  EXPECT_NE(train_on_noise(job).norms, sampled.norms);
}

// No order is known: lists alone, and of a shorter step the last go.
TEST(TrainingStep, FoundListsWithoutAnOrderChangeNoBit) {
  TrainingJob job = small_job();
  job.lanes = 2;
  const TrainingOutcome alone = train_on_noise(job);
  job.schedule = partition::kFound;
  for (int replicas : {1, 2}) {
    job.stages = 3;
    job.replicas = replicas;
    expect_equal(train_on_noise(job), alone, fmt::format("{} replicas", replicas));
  }
}

TEST(TrainingStep, ReplicasChangeNoBit) {
  TrainingJob job = small_job();
  job.optimizer.kind = "sgd";
  job.lanes = 2;
  const TrainingOutcome alone = train_on_noise(job);
  for (int stages : {1, 2}) {
    job.stages = stages;
    job.replicas = 2;
    expect_equal(train_on_noise(job), alone, fmt::format("{} stages × 2 replicas", stages));
  }
}

TEST(TrainingStep, StagesAndReplicasChangeNothingForAnyOptimizer) {
  for (const char* kind : {"lamb", "novograd", "sgd"}) {
    TrainingJob job = small_job();
    job.optimizer.kind = kind;
    job.optimizer.larc = job.optimizer.kind == "sgd" ? 0.01 : 0;
    job.optimizer.weight_decay = 1e-3;
    job.precision.compute = "fp16";
    job.lanes = 2;
    const TrainingOutcome alone = train_on_noise(job);
    EXPECT_LT(alone.losses.back(), alone.losses.front()) << kind;
    job.stages = 3;
    job.replicas = 2;
    expect_equal(train_on_noise(job), alone, std::string(kind) + ", 3 stages × 2 replicas");
  }
}

TEST(TrainingStep, BucketsChangeNoBit) {
  TrainingJob job = small_job();
  job.lanes = 4;
  const TrainingOutcome alone = train_on_noise(job);
  job.replicas = 2;
  for (std::int64_t bytes : {256, 4000, 1 << 20}) {
    job.bucket_bytes = bytes;
    expect_equal(train_on_noise(job), alone, fmt::to_string(bytes));
  }
}

struct Sharded {
  const char* kind;
  double larc = 0;
  const char* compute = "fp32";
};

class ShardedTrainingStep : public testing::TestWithParam<Sharded> {};

TEST_P(ShardedTrainingStep, ChangesNoBit) {
  TrainingJob job = small_job();
  job.optimizer.kind = GetParam().kind;
  job.optimizer.larc = GetParam().larc;
  job.optimizer.weight_decay = 1e-3;
  job.precision.compute = GetParam().compute;
  job.precision.loss_scaling = "logmax";
  job.lanes = 6;
  job.steps = 5;
  const TrainingOutcome alone = train_on_noise(job);
  job.shard = true;
  for (int stages : {1, 2, 3})
    for (int replicas : {2, 3}) {
      job.stages = stages;
      job.replicas = replicas;
      expect_equal(train_on_noise(job), alone,
                   fmt::format("{} stages × {} replicas", stages, replicas));
    }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ShardedTrainingStep,
                         testing::Values(Sharded{"adamw"}, Sharded{"adamw", 0, "fp16"},
                                         Sharded{"sgd"}, Sharded{"sgd", 0.01},
                                         Sharded{"sgd", 0.01, "fp16"}, Sharded{"lamb"},
                                         Sharded{"lamb", 0, "fp16"}, Sharded{"novograd"},
                                         Sharded{"novograd", 0, "fp16"}),
                         [](const auto& info) {
                           return std::string(info.param.kind) +
                                  (info.param.larc > 0 ? "_larc_" : "_") + info.param.compute;
                         });

// A matrix of several norm blocks, cut within; and stages with fewer blocks than replicas.
TEST(TrainingStep, ShardsOfBlocksOrNothingChangeNoBit) {
  TrainingJob job = small_job();
  job.optimizer.kind = "lamb";
  job.optimizer.weight_decay = 1e-3;
  job.model.family.as<layers::DeepSpeech2Options>().hidden = 110;
  job.lanes = 3;
  job.steps = 2;
  const TrainingOutcome alone = train_on_noise(job);
  job.shard = true;
  job.replicas = 3;
  for (int stages : {1, 9}) {
    job.stages = stages;
    job.bucket_bytes = 1 << 20;
    expect_equal(train_on_noise(job), alone, fmt::format("{} stages", stages));
  }
}

TEST(TrainingStep, RanksHearHowManySaySo) {
  for (const bool post_validation : {false, true}) {
    TrainingJob job = small_job();
    job.steps = 5;
    job.lanes = job.stages = job.replicas = 2;
    job.post_validation = post_validation;
    const TrainingOutcome silent = train_on_noise(job);
    job.notices = [](int rank) {
      return Notices{.stop = rank == 3, .due = 0, .written = 1, .committed = rank < 2};
    };
    std::mutex mutex;
    int heard = 0;
    job.reported = [&](const StepReport& report) {
      const std::lock_guard lock(mutex);
      heard += 1;
      EXPECT_EQ(report.notices.stop, 1);
      EXPECT_EQ(report.notices.due, 0);
      EXPECT_EQ(report.notices.written, 4);
      EXPECT_EQ(report.notices.committed, 2);
    };
    expect_equal(train_on_noise(job), silent, fmt::format("{}", post_validation));
    EXPECT_GE(heard, 4 * 4);  // the last may still be open
  }
}

TEST(TrainingStep, AGradientThatIsNotFiniteChangesNothing) {
  TrainingJob job = small_job();
  job.steps = 2;
  const TrainingOutcome before = train_on_noise(job);
  job.steps = 3;
  job.poisoned_step = 2;
  job.stages = 2;
  const TrainingOutcome after = train_on_noise(job);
  EXPECT_FALSE(std::isfinite(after.norms.back()));
  EXPECT_EQ(after.tensors, before.tensors);
  job.lanes = 3;
  job.poisoned_step = -1;
  job.steps = 2;
  const TrainingOutcome shared_before = train_on_noise(job);
  job.steps = 3;
  job.poisoned_step = 2;
  job.replicas = 3;
  job.shard = true;
  EXPECT_EQ(train_on_noise(job).tensors, shared_before.tensors);
}

}  // namespace
}  // namespace penstock::runtime
