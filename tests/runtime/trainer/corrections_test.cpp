#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Overrides = std::vector<std::string>;

/// Runs on tones, which resume wherever their folder has a checkpoint.
class CorrectedRun : public testing::Test {
 protected:
  CorrectedRun() {
    test::write_tone_corpus(in("train.jsonl"), 23, 1);
    test::write_tone_corpus(in("more.jsonl"), 31, 2);
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Until that step; the ranks follow from the overrides.
  void run(const std::string& output, int steps, const Overrides& overrides = {}) {
    Overrides all = {"data.validation=", "data.micro_batches=2", "trainer.lanes=2",
                     "trainer.validate_every=-1", "trainer.checkpoint_every=1000000"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    configs::Config recipe =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in(output)), "recipe.toml",
                              layers::model_families(), all);
    recipe.trainer.steps = steps;
    recipe.trainer.resume = std::filesystem::exists(in(output));
    TrainingObserver observer;
    observer.note = [this](const std::string& note) { notes_ += note + "\n"; };
    observer.step = [&](const StepReport& step) { reports_[output][step.step] = step; };
    comm::run_as_threads({.ranks = recipe.pipeline.stages * recipe.pipeline.replicas},
                         [&](comm::Communicator& world) { train({recipe}, world, observer); });
  }

  TrainingState state(const std::string& output) const {
    return open_checkpoint(in(output)).state();
  }

  /// Bytes of every tensor of the last checkpoint.
  std::map<std::string, std::string> tensors(const std::string& output) const {
    const Checkpoint checkpoint = open_checkpoint(in(output));
    std::map<std::string, std::string> tensors;
    for (const auto& [name, tensor] : checkpoint.tensors()) {
      const std::int64_t elements = layers::element_count(tensor.shape);
      std::string& bytes = tensors[name];
      bytes.resize(static_cast<std::size_t>(elements) * layers::size_of(tensor.dtype));
      checkpoint.read(name, 0, elements, std::as_writable_bytes(std::span(bytes)));
    }
    return tensors;
  }

  /// The same losses, tensors and history.
  void expect_equal(const std::string& a, const std::string& b) {
    for (const auto& [step, report] : reports_[a])
      EXPECT_EQ(report.loss, reports_[b].at(step).loss) << "step " << step << " of " << b;
    EXPECT_EQ(reports_[a].size(), reports_[b].size());
    EXPECT_EQ(tensors(a), tensors(b)) << a << ", " << b;
    EXPECT_EQ(state(a).corrections, state(b).corrections);
    EXPECT_EQ(state(a).data_origin, state(b).data_origin);
  }

  test::TemporaryFolder folder_;
  std::string notes_;
  std::map<std::string, std::map<std::int64_t, StepReport>> reports_;
};

const Overrides kSlower = {"optimizer.learning_rate=0.004"};
const Overrides kAcceptSlower = {"optimizer.learning_rate=0.004",
                                 "trainer.accept=[optimizer.learning_rate]"};

TEST_F(CorrectedRun, TakesTheChangeAndKeepsItsHistory) {
  run("output", 2);
  EXPECT_THROW(run("output", 4, kSlower), ConfigError);
  run("output", 4, kAcceptSlower);
  EXPECT_EQ(reports_["output"].at(2).learning_rate, 0.01);
  EXPECT_EQ(reports_["output"].at(3).learning_rate, 0.004);
  EXPECT_NE(notes_.find("from step 2 on, optimizer.learning_rate = 0.004, which was 0.01 "),
            std::string::npos)
      << notes_;
  const std::vector<Correction> first = {{2, "optimizer.learning_rate", "0.01", "0.004"}};
  EXPECT_EQ(state("output").corrections, first);
  run("output", 5, kSlower);  // it is the checkpoint's now
  EXPECT_EQ(state("output").corrections, first);
  EXPECT_THROW(run("output", 6), ConfigError);
  run("output", 6, {"trainer.accept=[optimizer.learning_rate]"});
  EXPECT_EQ(state("output").corrections.size(), 2u);
  EXPECT_EQ(state("output").corrections.back(),
            (Correction{5, "optimizer.learning_rate", "0.004", "0.01"}));
  EXPECT_EQ(state("output").data_origin, DataOrigin{});
}

// All kinds of change at once, on other ranks, and stopped after it once more.
TEST_F(CorrectedRun, IsBitEqualOnAnyLayout) {
  const Overrides changes = {"optimizer.clip_norm=3",
                             "optimizer.beta2=0.99",
                             "optimizer.freeze=[conv1.*]",
                             "optimizer.learning_rates=[\"output.*: 0.5\"]",
                             "lr_schedule.kind=cosine",
                             "lr_schedule.total_steps=40",
                             "model.dropout=0.3",
                             "precision.compute=bf16",
                             "data.micro_batches=3",
                             "data.micro_batch_seconds=2",
                             "data.speeds=[1, 1.05]",
                             "data.max_seconds=0.75",
                             "data.train=" + in("more.jsonl"),
                             "trainer.seed=5",
                             "trainer.accept=[optimizer.clip_norm, optimizer.beta2, "
                             "optimizer.freeze, optimizer.learning_rates, lr_schedule.kind, "
                             "lr_schedule.total_steps, model.dropout, precision.compute, "
                             "data.micro_batches, data.micro_batch_seconds, data.speeds, "
                             "data.max_seconds, data.train, trainer.seed]"};
  const auto on = [&](Overrides layout) {
    layout.insert(layout.begin(), changes.begin(), changes.end());
    return layout;
  };
  run("one", 3);
  run("one", 9, changes);
  EXPECT_EQ(state("one").corrections.size(), 14u);  // each of them, and the utterances
  run("others", 3, {"pipeline.stages=2"});
  run("others", 5, on({"pipeline.stages=3", "pipeline.schedule=zb-h1"}));
  run("others", 6, on({"pipeline.replicas=2", "pipeline.shard_optimizer=true"}));
  run("others", 9, on({"pipeline.stages=2"}));
  expect_equal("one", "others");
}

TEST_F(CorrectedRun, BeginsAnEpochWithOtherSteps) {
  run("output", 4);
  const TrainingState before = state("output");
  ASSERT_GT(before.step_in_epoch, 0);
  run("output", 16,
      {"data.micro_batches=3", "data.train=" + in("more.jsonl"),
       "trainer.accept=[data.micro_batches, data.train]"});
  std::map<std::int64_t, std::int64_t> utterances;  // by epoch
  for (const auto& [step, report] : reports_["output"])
    if (step > 4) utterances[report.epoch] += report.utterances;
  ASSERT_GT(utterances.size(), 2u);
  EXPECT_EQ(utterances.begin()->first, before.epoch + 1);
  for (auto epoch = utterances.begin(); epoch != std::prev(utterances.end()); ++epoch)
    EXPECT_EQ(epoch->second, 31) << "epoch " << epoch->first;
  EXPECT_EQ(state("output").data_origin, (DataOrigin{4, before.epoch + 1}));
}

/// Four micro-batches for three steps, then two, then three, until the data of six first steps.
TEST_F(CorrectedRun, ScalesTheLearningRateOnAnyLayout) {
  const auto with = [&](const std::string& micro_batches, Overrides layout) {
    layout.insert(layout.end(), {"trainer.scaling=linear", "data.micro_batches=" + micro_batches,
                                 "lr_schedule.warmup=4"});
    return layout;
  };
  run("one", 3, with("4", {}));
  run("one", 6, with("2", {}));
  EXPECT_EQ(state("one").step, 9);
  EXPECT_NE(notes_.find("from step 3 on, data.micro_batches = 2, which was 4 (trainer.scaling)"),
            std::string::npos)
      << notes_;
  const auto rate = [&](std::int64_t step) { return reports_["one"].at(step).learning_rate; };
  EXPECT_DOUBLE_EQ(rate(3), 0.0075);
  EXPECT_DOUBLE_EQ(rate(4), 0.01 / 2);
  EXPECT_DOUBLE_EQ(rate(9), 0.01 / 2);
  run("one", 9, with("3", {}));
  EXPECT_EQ(state("one").step, 13);
  EXPECT_DOUBLE_EQ(rate(13), 0.0075);
  std::map<std::int64_t, std::int64_t> utterances;  // by epoch
  for (const auto& [step, report] : reports_["one"]) utterances[report.epoch] += report.utterances;
  ASSERT_GT(utterances.size(), 2u);
  for (auto epoch = utterances.begin(); epoch != std::prev(utterances.end()); ++epoch)
    EXPECT_EQ(epoch->second, 23) << "epoch " << epoch->first;
  run("others", 3, with("4", {"pipeline.stages=2"}));
  run("others", 6, with("2", {"pipeline.replicas=2"}));
  run("others", 9, with("3", {"pipeline.stages=3"}));
  expect_equal("one", "others");
}

TEST_F(CorrectedRun, FreezesAndTrainsAgain) {
  const auto accepting = [](const std::string& patterns) {
    return Overrides{"optimizer.freeze=" + patterns, "trainer.accept=[optimizer.freeze]"};
  };
  for (const std::string kind : {"adamw", "novograd"}) {
    const auto go_on = [&](int steps, Overrides overrides) {
      overrides.push_back("optimizer.kind=" + kind);
      run(kind, steps, overrides);
    };
    go_on(2, {});
    const auto trained = tensors(kind);
    ASSERT_TRUE(trained.contains("optimizer.mean/conv1.weight"));
    go_on(4, accepting("[conv*]"));
    const auto frozen = tensors(kind);
    EXPECT_EQ(frozen.at("conv1.weight"), trained.at("conv1.weight"));
    EXPECT_NE(frozen.at("output.weight"), trained.at("output.weight"));
    EXPECT_FALSE(frozen.contains("optimizer.mean/conv1.weight"));
    go_on(6, accepting("[]"));
    const auto again = tensors(kind);
    EXPECT_NE(again.at("conv1.weight"), trained.at("conv1.weight"));
    EXPECT_TRUE(again.contains("optimizer.mean/conv1.weight"));
  }
}

TEST_F(CorrectedRun, TrainsMoreBesideAdapters) {
  const Overrides adapters = {"lora.rank=2", "lora.targets=[rnn1.input]"};
  for (const std::string kind : {"adamw", "novograd"}) {
    const auto go_on = [&](int steps, Overrides overrides) {
      overrides.insert(overrides.end(), adapters.begin(), adapters.end());
      overrides.push_back("optimizer.kind=" + kind);
      run(kind, steps, overrides);
    };
    go_on(2, {});
    const auto before = tensors(kind);
    ASSERT_FALSE(before.contains("optimizer.mean/output.weight"));
    go_on(4, {"lora.train=[output.*]", "trainer.accept=[lora.train]"});
    const auto after = tensors(kind);
    EXPECT_NE(after.at("output.weight"), before.at("output.weight"));
    EXPECT_EQ(after.at("conv1.weight"), before.at("conv1.weight"));
    EXPECT_THROW(go_on(5, {"lora.train=[output.*]", "lora.alpha=3"}), ConfigError);
  }
  const std::string message = test::message_of<ConfigError>([&] {
    run("adamw", 5, {"lora.rank=3", "lora.targets=[rnn1.input]", "optimizer.kind=adamw"});
  });
  EXPECT_NE(message.find("lora.rank"), std::string::npos) << message;
}

TEST_F(CorrectedRun, ChangesPrecisionBackAndForth) {
  const auto accepting = [](const std::string& compute, const std::string& scaling) {
    return Overrides{"precision.compute=" + compute, "precision.loss_scaling=" + scaling,
                     "precision.scale=64",
                     "trainer.accept=[precision.compute, precision.loss_scaling, precision.scale]"};
  };
  run("output", 2);
  run("output", 3, accepting("fp16", "backoff"));
  EXPECT_EQ(reports_["output"].at(3).loss_scale, 16384);
  run("output", 4, accepting("fp16", "static"));
  EXPECT_EQ(reports_["output"].at(4).loss_scale, 64);
  run("output", 5, accepting("bf16", "static"));
  EXPECT_EQ(reports_["output"].at(5).loss_scale, 1);
}

TEST_F(CorrectedRun, KeepsADividedStepOnOtherReplicas) {
  const auto train = [&](const std::string& output, int steps, int replicas) {
    configs::Config recipe = configs::parse_config(
        test::tone_recipe(in("train.jsonl"), "", in(output)), "recipe.toml",
        layers::model_families(), Overrides{"data.validation=", "trainer.lanes=0"});
    recipe.data.batch_seconds = 7.5;
    // The loader makes these values of a recipe that names neither key.
    recipe.data.micro_batches = replicas;
    recipe.data.micro_batch_seconds = 7.5 / replicas;
    recipe.pipeline.replicas = replicas;
    recipe.trainer.steps = steps;
    recipe.trainer.resume = std::filesystem::exists(in(output));
    TrainingObserver observer;
    observer.note = [this](const std::string& note) { notes_ += note + "\n"; };
    observer.step = [&](const StepReport& step) { reports_[output][step.step] = step; };
    comm::run_as_threads({.ranks = replicas}, [&](comm::Communicator& world) {
      runtime::train({recipe}, world, observer);
    });
  };
  train("whole", 6, 3);
  train("parts", 3, 3);
  train("parts", 4, 2);
  train("parts", 6, 1);
  expect_equal("whole", "parts");
  EXPECT_NE(notes_.find("into 3 micro-batches of 2.5 s"), std::string::npos) << notes_;
  EXPECT_THROW(train("parts", 7, 4), ConfigError);  // of four replicas one would have none
}

}  // namespace
}  // namespace penstock::runtime
