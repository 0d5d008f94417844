#include "runtime/pipeline/tied_weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "layers/models/transformer.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

constexpr const char* kOwner = "decoder.text.weight";
constexpr const char* kReader = "decoder.output.weight";

/// A block of an encoder, and one of a decoder with a tied head.
TrainingJob tied_job() {
  TrainingJob job;
  job.model.features = 17;
  job.model.family =
      layers::TransformerOptions{.channels = 3, .width = 8, .heads = 2, .layers = 1, .inner = 6};
  job.model.decoder = "lm";
  job.model.networks = {.width = 8, .layers = 1, .heads = 2, .inner = 6, .tied = true};
  job.optimizer.learning_rate = 0.003;
  job.steps = 4;
  job.lanes = 2;
  return job;
}

int layers_of(const TrainingJob& job) {
  return partition::build_model(job.model, job.labels).size();
}

/// The place of the embedding: the first of text, two units of a block, norm and output.
int embedding_of(const TrainingJob& job) { return layers_of(job) - 5; }

/// Expects the outcome of `alone`, and that both layers have read the same weights.
void expect_tied(const TrainingJob& job, const TrainingOutcome& alone, const std::string& what) {
  const TrainingOutcome found = train_on_noise(job);
  expect_equal(found, alone, what);
  EXPECT_EQ(found.tensors.at(kReader), found.tensors.at(kOwner)) << what;
}

TEST(TiedWeights, NoCutChangesABit) {
  TrainingJob job = tied_job();
  const TrainingOutcome alone = train_on_noise(job);
  EXPECT_EQ(alone.tensors.at(kReader), alone.tensors.at(kOwner));
  EXPECT_FALSE(alone.tensors.contains(std::string(kReader) + "#0"));
  job.stages = 2;
  for (int first = 1; first < layers_of(job); ++first) {
    job.cut = {first};
    expect_tied(job, alone, fmt::format("cut at {}", first));
  }
}

TEST(TiedWeights, MayLieInFoldedChunks) {
  TrainingJob job = tied_job();
  const TrainingOutcome alone = train_on_noise(job);
  const int text = embedding_of(job);
  job.stages = 2;
  job.schedule = "zb-v";  // the first and the last chunk are on one rank
  for (const std::vector<int>& cut :
       {std::vector{text + 1, text + 2, text + 4}, {1, text, text + 4}, {1, 2, text}}) {
    job.cut = cut;
    expect_tied(job, alone, fmt::format("cut at {}", cut.front()));
  }
}

// The table has three norm blocks, of which replicas own different ones on the two stages.
TEST(TiedWeights, AreSummedInTheShardsOfBothStages) {
  TrainingJob job = tied_job();
  job.model.networks.width = 48;
  job.labels = 3001;
  job.steps = 2;
  job.lanes = 3;
  for (const char* compute : {"fp32", "bf16"}) {
    job.precision.compute = compute;
    job.stages = job.replicas = 1;
    job.cut.clear();
    job.shard = false;
    const TrainingOutcome alone = train_on_noise(job);
    for (const int stages : {1, 2})
      for (const bool shard : {false, true}) {
        job.stages = stages;
        job.replicas = 3;
        job.shard = shard;
        job.cut = stages == 1 ? std::vector<int>() : std::vector{embedding_of(job) + 2};
        const TrainingOutcome found = train_on_noise(job);
        expect_equal(found, alone, fmt::format("{}, {} stages, {}", compute, stages, shard));
      }
  }
}

TEST(TiedWeights, AreUpdatedOnceByEveryOptimizer) {
  for (const char* kind : {"sgd", "lamb", "novograd"}) {
    TrainingJob job = tied_job();
    job.optimizer.kind = kind;
    job.ema = 0.9;
    const TrainingOutcome alone = train_on_noise(job);
    job.stages = job.replicas = 2;
    for (const bool shard : {false, true}) {
      job.shard = shard;
      expect_tied(job, alone, kind);
    }
  }
}

TEST(TiedWeights, FollowWhatIsRolledBack) {
  TrainingJob job = tied_job();
  job.steps = 8;
  job.optimizer.clip_norm = clip_behind_plain_steps(job);
  const TrainingOutcome alone = train_on_noise(job);
  job.stages = 2;
  job.post_validation = true;
  job.cut = {layers_of(job) - 1};
  const TrainingOutcome found = train_on_noise(job);
  EXPECT_GT(found.rolled_back, 0);
  EXPECT_EQ(found.losses, alone.losses);
  EXPECT_EQ(found.tensors, alone.tensors);
}

TEST(TiedWeights, StayWhereBothAreFrozen) {
  for (const bool adapted : {false, true}) {
    TrainingJob job = tied_job();
    if (adapted)
      job.model.lora = {.rank = 2, .targets = {"decoder.*.qkv"}};
    else
      job.optimizer.freeze = {kOwner, kReader};
    const TrainingOutcome alone = train_on_noise(job);
    job.steps = 1;
    EXPECT_EQ(train_on_noise(job).tensors.at(kOwner), alone.tensors.at(kOwner));
    job.steps = 4;
    job.stages = 2;
    for (const int first : {2, layers_of(job) - 1}) {
      job.cut = {first};
      expect_tied(job, alone, fmt::format("cut at {}", first));
    }
  }
}

// The head's part is trained through its bias, and has sums for its weight too.
TEST(TiedWeights, StayFrozenBesideATrainedBias) {
  TrainingJob job = tied_job();
  job.model.decoder = "attention";
  job.model.networks.qk_norm = false;
  job.model.networks.head_bias = true;
  job.optimizer.freeze = {kOwner, kReader};
  for (const char* compute : {"fp32", "bf16"}) {
    job.precision.compute = compute;
    job.stages = 1;
    job.cut = {};
    const TrainingOutcome alone = train_on_noise(job);
    EXPECT_EQ(alone.tensors.at(kReader), alone.tensors.at(kOwner));
    job.stages = 2;
    job.cut = {layers_of(job) - 1};
    expect_tied(job, alone, compute);
  }
}

// The two sums of a tied table make its gradient: another loss than that of two tables.
TEST(TiedWeights, LearnOtherThanTwoTables) {
  TrainingJob job = tied_job();
  const TrainingOutcome tied = train_on_noise(job);
  job.model.networks.tied = false;
  const TrainingOutcome apart = train_on_noise(job);
  EXPECT_NE(tied.losses.front(), apart.losses.front());
  EXPECT_NE(apart.tensors.at(kReader), apart.tensors.at(kOwner));
}

}  // namespace
}  // namespace penstock::runtime
