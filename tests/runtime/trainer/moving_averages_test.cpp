#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/deepspeech2.h"
#include "runtime/checkpoint/average/average_checkpoints.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/export.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/runtime/training_job.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::train_on_noise;
using test::TrainingJob;
using test::TrainingOutcome;
using Floats = std::vector<float>;
using Overrides = std::vector<std::string>;

constexpr double kDecay = 0.9;

TrainingJob averaging_job() {
  TrainingJob job = test::small_job();
  job.model.family.as<layers::DeepSpeech2Options>().hidden = 110;  // several norm blocks
  job.bucket_bytes = 1 << 18;
  job.lanes = 2;
  job.steps = 4;
  job.ema = kDecay;
  return job;
}

// average += (1 - decay) · (weight - average) from the initial weights on, which a run without
// steps has.
TEST(MovingAverages, FollowTheFormulaUnderEveryOptimizer) {
  for (const char* kind : {"adamw", "sgd", "lamb", "novograd"}) {
    TrainingJob job = averaging_job();
    job.optimizer.kind = kind;
    job.steps = 0;
    std::map<std::string, Floats> expected;
    for (const auto& [name, values] : train_on_noise(job).tensors)
      if (name.ends_with("#average")) expected[name] = values;
    ASSERT_FALSE(expected.empty());
    TrainingOutcome outcome;
    for (job.steps = 1; job.steps <= 4; ++job.steps) {
      outcome = train_on_noise(job);
      for (auto& [name, average] : expected) {
        const Floats& weight = outcome.tensors.at(name.substr(0, name.find('#')));
        for (std::size_t i = 0; i < average.size(); ++i)
          average[i] += static_cast<float>(1 - kDecay) * (weight[i] - average[i]);
      }
    }
    for (const auto& [name, average] : expected)
      for (std::size_t i = 0; i < average.size(); ++i)
        ASSERT_NEAR(outcome.tensors.at(name)[i], average[i], 4e-7 * (std::abs(average[i]) + 0.01))
            << kind << name << i;
  }
}

TEST(MovingAverages, LeaveTheTrainingAlone) {
  TrainingJob job = averaging_job();
  const TrainingOutcome averaged = train_on_noise(job);
  job.ema = 0;
  const TrainingOutcome plain = train_on_noise(job);
  EXPECT_EQ(averaged.losses, plain.losses);
  for (const auto& [name, values] : plain.tensors) EXPECT_EQ(averaged.tensors.at(name), values);
}

struct AveragesCase {
  const char* compute;
  const char* state = "fp32";
};

class MovingAveragesOf : public testing::TestWithParam<AveragesCase> {};

TEST_P(MovingAveragesOf, StagesAndReplicasChangeNoBit) {
  TrainingJob job = averaging_job();
  job.precision.compute = GetParam().compute;
  job.optimizer.state = GetParam().state;
  job.optimizer.freeze = {"conv2.*", "*.bias"};
  test::expect_equal_layouts(job);
}

INSTANTIATE_TEST_SUITE_P(Of, MovingAveragesOf,
                         testing::Values(AveragesCase{"fp32"}, AveragesCase{"fp16"},
                                         AveragesCase{"bf16"}, AveragesCase{"fp32", "8bit"},
                                         AveragesCase{"fp16", "bf16"}),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.compute, info.param.state);
                         });

TEST(MovingAverages, AreRolledBackWithTheirUpdate) {
  TrainingJob job = averaging_job();
  job.steps = 20;
  job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
  const TrainingOutcome waiting = train_on_noise(job);
  job.stages = job.replicas = 2;
  job.post_validation = true;
  for (const bool shard : {false, true}) {
    job.shard = shard;
    const TrainingOutcome optimistic = train_on_noise(job);
    EXPECT_GT(optimistic.rolled_back, 0);
    test::expect_equal(optimistic, waiting, shard ? "shared" : "not shared");
  }
}

TEST(MovingAverages, StayWhereAStepIsSkipped) {
  for (const char* kind : {"adamw", "lamb"}) {
    TrainingJob job = averaging_job();
    job.optimizer.kind = kind;
    job.steps = 1;
    const TrainingOutcome before = train_on_noise(job);
    job.steps = 2;
    job.poisoned_step = 1;
    const TrainingOutcome after = train_on_noise(job);
    for (const auto& [name, values] : before.tensors)
      if (name.ends_with("#average")) {
        EXPECT_EQ(after.tensors.at(name), values) << kind << name;
      }
  }
}

/// Runs on tones, which resume where their folder has a checkpoint.
class AveragingRun : public testing::Test {
 protected:
  AveragingRun() {
    test::write_tone_corpus(in("train.jsonl"), 23, 1);
    test::write_tone_corpus(in("validation.jsonl"), 5, 2);
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  void run(const std::string& output, int steps, const Overrides& overrides) {
    Overrides all = {"data.validation=", "data.micro_batches=2", "trainer.lanes=2",
                     "trainer.checkpoint_every=1000000"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    configs::Config recipe =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in(output)), "recipe.toml",
                              layers::model_families(), all);
    recipe.trainer.steps = steps;
    recipe.trainer.resume = std::filesystem::exists(in(output));
    TrainingObserver observer;
    observer.validation = [this](const EvaluationReport& report) { validated_ = report; };
    comm::run_as_threads({.ranks = recipe.pipeline.stages * recipe.pipeline.replicas},
                         [&](comm::Communicator& world) { train({recipe}, world, observer); });
  }

  double loss_of(const std::string& checkpoint, int ranks = 1) const {
    double loss = 0;
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const EvaluationTotals totals =
          evaluate_checkpoint({.checkpoint = in(checkpoint), .families = layers::model_families()},
                              {{in("validation.jsonl")}}, world);
      if (world.rank() == 0) loss = report_of(sum_of(totals)).loss;
    });
    return loss;
  }

  std::map<std::string, Floats> tensors(const std::string& output) const {
    const Checkpoint checkpoint = open_checkpoint(in(output));
    std::map<std::string, Floats> tensors;
    for (const auto& [name, tensor] : checkpoint.tensors())
      tensors[name] = test::read_tensor(checkpoint, name);
    return tensors;
  }

  test::TemporaryFolder folder_;
  EvaluationReport validated_;
};

TEST_F(AveragingRun, ResumesElsewhereWithTheSameBits) {
  const Overrides shared = {"trainer.ema=0.9", "pipeline.replicas=2",
                            "pipeline.shard_optimizer=true"};
  const Overrides stages = {"trainer.ema=0.9", "pipeline.stages=3"};
  run("straight", 6, {"trainer.ema=0.9"});
  for (const auto& [first, second] : {std::pair{shared, stages}, {stages, shared}}) {
    run("parted", 3, first);
    run("parted", 6, second);
    EXPECT_EQ(tensors("parted"), tensors("straight"));
    std::filesystem::remove_all(in("parted"));
  }
}

TEST_F(AveragingRun, TurnsAveragesOnAndOffWhereAccepted) {
  run("output", 2, {});
  const std::map<std::string, Floats> before = tensors("output");
  const std::string refused =
      test::message_of<ConfigError>([&] { run("output", 3, {"trainer.ema=0.9"}); });
  EXPECT_NE(refused.find("trainer.accept = [\"trainer.ema\"]"), std::string::npos) << refused;
  run("output", 3, {"trainer.ema=0.9", "trainer.accept=[trainer.ema]"});
  std::map<std::string, Floats> after = tensors("output");
  const Floats &begun = before.at("output.weight"), &weight = after.at("output.weight"),
               &average = after.at("optimizer.ema/output.weight");
  for (std::size_t i = 0; i < average.size(); ++i)
    EXPECT_NEAR(average[i], begun[i] + 0.1F * (weight[i] - begun[i]), 1e-7);
  run("output", 4, {"trainer.accept=[trainer.ema]"});
  EXPECT_FALSE(tensors("output").contains("optimizer.ema/output.weight"));
}

// Whoever evaluates a checkpoint gets what its training has validated.
TEST_F(AveragingRun, ValidatesWhatItsCheckpointIsEvaluatedBy) {
  const std::vector<Overrides> layouts = {
      {"trainer.ema=0.9"},
      {"trainer.ema=0.9", "pipeline.stages=2", "pipeline.replicas=2"},
      {"trainer.ema=0.9", "pipeline.replicas=2", "pipeline.shard_optimizer=true"},
      {"trainer.ema=0.9", "pipeline.replicas=2", "pipeline.shard_optimizer=true",
       "precision.compute=bf16"}};
  run("plain", 4, {});
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    Overrides overrides = layouts[i];
    overrides.push_back("data.validation=" + in("validation.jsonl"));
    overrides.push_back("trainer.validate_every=2");
    const std::string output = fmt::format("averaged-{}", i);
    run(output, 4, overrides);
    EXPECT_EQ(validated_.loss, loss_of(output)) << i;
    EXPECT_EQ(validated_.loss, loss_of(output, 2)) << i;
    if (i == 3) break;  // the plain run computes in FP32
    const std::map<std::string, Floats> plain = tensors("plain"), averaged = tensors(output);
    for (const auto& [name, values] : plain) EXPECT_EQ(averaged.at(name), values) << name;
  }
  EXPECT_NE(loss_of("averaged-0"), loss_of("plain"));
}

// A tied embedding has an average like other weights, and both of its layers validate with it.
TEST_F(AveragingRun, ValidatesTiedWeightsByTheirAverages) {
  const Overrides tied = {"model.decoder=lm",   "decoder.width=12", "decoder.layers=1",
                          "decoder.heads=2",    "decoder.inner=10", "decoder.tied=true",
                          "decoder.prompt=[1]", "trainer.ema=0.9"};
  std::map<std::string, Floats> first;
  double loss = 0;
  for (const int stages : {1, 2, 4}) {
    Overrides overrides = tied;
    overrides.push_back(fmt::format("pipeline.stages={}", stages));
    overrides.push_back("data.validation=" + in("validation.jsonl"));
    overrides.push_back("trainer.validate_every=2");
    const std::string output = fmt::format("tied-{}", stages);
    run(output, 4, overrides);
    EXPECT_EQ(validated_.loss, loss_of(output)) << stages;
    EXPECT_EQ(validated_.loss, loss_of(output, 2)) << stages;
    if (stages == 1) {
      first = tensors(output);
      loss = validated_.loss;
    }
    EXPECT_EQ(tensors(output), first) << stages;
    EXPECT_EQ(validated_.loss, loss) << stages;
  }
  EXPECT_TRUE(first.contains("optimizer.ema/decoder.text.weight"));
  EXPECT_NE(first.at("optimizer.ema/decoder.text.weight"), first.at("decoder.text.weight"));
  Overrides without = tied;
  without.back() = "trainer.ema=0";
  run("tied-plain", 4, without);
  for (const auto& [name, values] : tensors("tied-plain"))
    EXPECT_EQ(first.at(name), values) << name;
  EXPECT_NE(loss_of("tied-plain"), loss);
}

TEST_F(AveragingRun, IsReadByItsAveragesUnlessWithout) {
  run("output", 3, {"trainer.ema=0.9", "trainer.checkpoint_every=2"});
  export_weights(in("output"), in("averages"));
  export_weights(in("output"), in("weights"), {.averages = false});
  std::map<std::string, Floats> all = tensors("output");
  const Floats &average = all.at("optimizer.ema/output.weight"), &weight = all.at("output.weight");
  EXPECT_NE(average, weight);
  EXPECT_EQ(tensors("averages").at("output.weight"), average);
  EXPECT_EQ(tensors("weights").at("output.weight"), weight);
  EXPECT_FALSE(tensors("weights").contains("optimizer.ema/output.weight"));

  const std::filesystem::path second = in("output/checkpoint-000000002");
  average_checkpoints({second, in("output")}, in("mean"));
  const Floats mean = tensors("mean").at("output.weight");
  const Floats other = test::read_tensor(Checkpoint(second), "optimizer.ema/output.weight");
  for (std::size_t i = 0; i < other.size(); ++i)
    EXPECT_EQ(mean[i], static_cast<float>((static_cast<double>(average[i]) + other[i]) / 2));

  run("tuned", 1, {"trainer.init=" + in("output"), "optimizer.freeze=[output.*]"});
  EXPECT_EQ(tensors("tuned").at("output.weight"), average);
}

// Evaluation verifies what it reads, and no slots.
TEST_F(AveragingRun, IsVerifiedWithItsAverages) {
  run("output", 1, {"trainer.ema=0.9"});
  for (const auto& [slot, damaged] :
       {std::pair{"optimizer.mean/output.weight", false}, {"optimizer.ema/output.weight", true}}) {
    const Checkpoint whole = open_checkpoint(in("output"));
    const CheckpointBlock& block = whole.tensor(slot).blocks.front();
    const std::filesystem::path file = whole.shard_path(block.shard);
    const std::string bytes = test::read_file(file);
    std::string changed = bytes;
    changed[block.file_begin] = static_cast<char>(changed[block.file_begin] ^ 1);
    test::write_file(file, changed);
    if (damaged) {
      EXPECT_THROW(Checkpoint(whole.folder()).verify(Verified::read), CheckpointError);
    } else {
      EXPECT_NO_THROW(Checkpoint(whole.folder()).verify(Verified::read));
    }
    test::write_file(file, bytes);
  }
}

}  // namespace
}  // namespace penstock::runtime
