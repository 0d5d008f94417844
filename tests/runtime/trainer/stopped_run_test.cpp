#include <gtest/gtest.h>

#include <map>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Loss of each validation, by step.
using Validations = std::map<std::int64_t, double>;

class StoppedRun : public testing::Test {
 protected:
  StoppedRun() {
    test::write_tone_corpus(in("train.jsonl"), 23, 1);
    test::write_tone_corpus(in("validation.jsonl"), 7, 2);
  }

  /// Six steps, in two stages, of which one is the last where somebody asks for a stop.
  TrainingSummary run(const std::string& output, std::int64_t asked = 1000) {
    const std::vector<std::string> overrides = {"pipeline.stages=2", "trainer.steps=6",
                                                "trainer.validate_every=2",
                                                "trainer.checkpoint_every=1000000"};
    configs::Config recipe = configs::parse_config(
        test::tone_recipe(in("train.jsonl"), in("validation.jsonl"), in(output)), "recipe.toml",
        layers::model_families(), overrides);
    recipe.trainer.resume = std::filesystem::exists(in(output));
    TrainingObserver observer;
    observer.validation = [&](const EvaluationReport& report) {
      validations_[output][report.step] = report.loss;
    };
    TrainingSummary summary;
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      TrainingTask task{recipe};
      // Asked once at the beginning, and at the end of each step.
      task.stop_asked = [asked, calls = std::int64_t{0}]() mutable { return calls++ >= asked; };
      const TrainingSummary of_rank = train(task, world, observer);
      if (world.rank() == 0) summary = of_rank;
    });
    return summary;
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  const test::TemporaryFolder folder_;
  std::map<std::string, Validations> validations_;
};

TEST_F(StoppedRun, ValidatesWhatWasDueOnceItGoesOn) {
  run("whole");
  ASSERT_EQ(validations_["whole"].size(), 3u);
  for (const std::int64_t asked : {2, 3}) {
    const std::string output = "stopped_in_" + std::to_string(asked);
    EXPECT_TRUE(run(output, asked).stopped);
    EXPECT_EQ(validations_[output].size(), asked == 2 ? 0u : 1u);
    EXPECT_FALSE(run(output).stopped);
    EXPECT_EQ(validations_[output], validations_["whole"]);
  }
}

TEST_F(StoppedRun, ValidatesNothingTwice) {
  run("output", 3);
  EXPECT_EQ(validations_["output"].size(), 1u);
  validations_.clear();
  run("output");
  EXPECT_EQ(validations_["output"].size(), 2u);  // of steps 4 and 6
}

TEST_F(StoppedRun, IsWholeWhereItsStepsAreDone) {
  EXPECT_FALSE(run("output", 6).stopped);
  EXPECT_EQ(validations_["output"].size(), 3u);
}

}  // namespace
}  // namespace penstock::runtime
