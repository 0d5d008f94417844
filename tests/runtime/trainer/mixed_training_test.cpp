#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

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

/// Runs on the tones of two manifests, which resume wherever their folder has a checkpoint.
class MixedRun : public testing::Test {
 protected:
  MixedRun() {
    test::write_tone_corpus(in("a.jsonl"), 13, 1);
    test::write_tone_corpus(in("b.jsonl"), 5, 2);
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string both(const std::string& weight) const {
    return "data.train=[{manifest = \"" + in("a.jsonl") + "\", weight = 0.7}, {manifest = \"" +
           in("b.jsonl") + "\", weight = " + weight + "}]";
  }

  void run(const std::string& output, int steps, const Overrides& overrides) {
    Overrides all = {"data.validation=",          "data.micro_batches=2",
                     "data.temperature=3",        "trainer.lanes=2",
                     "trainer.validate_every=-1", "trainer.checkpoint_every=1000000"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    configs::Config recipe = configs::parse_config(test::tone_recipe(in("a.jsonl"), "", in(output)),
                                                   "recipe.toml", layers::model_families(), all);
    recipe.trainer.steps = steps;
    recipe.trainer.resume = std::filesystem::exists(in(output));
    TrainingObserver observer;
    observer.note = [this](const std::string& note) { notes_ += note + "\n"; };
    observer.step = [&](const StepReport& step) { losses_[output][step.step] = step.loss; };
    comm::run_as_threads({.ranks = recipe.pipeline.stages * recipe.pipeline.replicas},
                         [&](comm::Communicator& world) { train({recipe}, world, observer); });
  }

  TrainingState state(const std::string& output) const {
    return open_checkpoint(in(output)).state();
  }

  test::TemporaryFolder folder_;
  std::string notes_;
  std::map<std::string, std::map<std::int64_t, double>> losses_;
};

TEST_F(MixedRun, ResumesAtAnyStepOnAnyLayout) {
  const std::string data = both("2");
  run("whole", 9, {data});
  EXPECT_GT(state("whole").epoch, 1) << "steps of more than one epoch";
  EXPECT_NE(notes_.find("an epoch of data.train: " + in("a.jsonl")), std::string::npos) << notes_;
  for (int step = 1; step < 9; ++step) run("stops", step, {data});
  run("stops", 9, {data, "pipeline.replicas=2"});
  EXPECT_EQ(losses_["whole"], losses_["stops"]);
  run("ranks", 4, {data, "pipeline.stages=2", "pipeline.replicas=2"});
  run("ranks", 9, {data, "pipeline.stages=3"});
  EXPECT_EQ(losses_["whole"], losses_["ranks"]);
}

TEST_F(MixedRun, OfOneManifestIsAsOfItsPath) {
  run("path", 5, {"data.train=" + in("a.jsonl"), "data.temperature=1"});
  run("list", 5, {"data.train=[{manifest = \"" + in("a.jsonl") + "\", weight = 0.3}]"});
  EXPECT_EQ(losses_["path"], losses_["list"]);
  EXPECT_EQ(notes_.find("an epoch of data.train"), std::string::npos);
}

TEST_F(MixedRun, WeightsChangeWhereTheyAreAccepted) {
  run("output", 3, {both("2")});
  const std::string refused = test::message_of<ConfigError>([&] { run("output", 6, {both("4")}); });
  EXPECT_TRUE(refused.ends_with("trainer.accept = [\"data.train\"]")) << refused;
  EXPECT_THROW(run("output", 6, {both("2"), "data.temperature=1"}), ConfigError);
  run("output", 6,
      {both("4"), "data.temperature=1", "trainer.accept=[data.train, data.temperature]"});
  const TrainingState after = state("output");
  ASSERT_EQ(after.corrections.size(), 2u);
  EXPECT_EQ(after.corrections[0], (Correction{3, "data.temperature", "3", "1"}));
  EXPECT_EQ(after.corrections[1].key, "data.train");
  EXPECT_EQ(after.data_origin.step, 3);
}

/// A manifest that is gone, or of which nothing can be used, is named.
TEST_F(MixedRun, NamesTheManifestAtFault) {
  EXPECT_THROW(run("gone", 1, {"data.train=[" + in("a.jsonl") + ", " + in("c.jsonl") + "]"}),
               DataError);
  test::write_file(in("c.jsonl"), "");
  const std::string empty = test::message_of<DataError>(
      [&] { run("empty", 1, {"data.train=[" + in("a.jsonl") + ", " + in("c.jsonl") + "]"}); });
  EXPECT_NE(empty.find(in("c.jsonl")), std::string::npos) << empty;
  const std::string hardly =
      test::message_of<ConfigError>([&] { run("hardly", 1, {both("1e-9")}); });
  EXPECT_NE(hardly.find("utterances of " + in("b.jsonl")), std::string::npos) << hardly;
}

}  // namespace
}  // namespace penstock::runtime
