#include "runtime/corpus/failed_audio.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(FailedAudio, IsLimitedPerEpoch) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    FailedAudio audio(0.2, 10);
    int asked = 0;
    const auto here = [&] { return ++asked, std::vector<FailedUtterance>{{7, "a.wav: gone"}}; };
    audio.check(world, 0, 2, here);
    audio.check(world, 1, 3, here);
    audio.check(world, 1, 4, here);
    audio.check(world, 2, 6, here);
    EXPECT_EQ(asked, 0);
    EXPECT_THROW(audio.check(world, 2, 7, here), DataError);
    EXPECT_EQ(asked, 1);
  });
}

TEST(FailedAudio, OfAllRanksIsNamed) {
  EXPECT_EQ(
      test::message_of<DataError>([] {
        comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
          std::vector<FailedUtterance> here;
          if (world.rank() != 1) here = {{7, "a.wav: gone"}, {9, "b.wav: gone"}};
          FailedAudio(0.2, 10).check(world, 0, 4, [&] { return here; });
        });
      }),
      "4 utterances could not be read:\n  utterance 7: a.wav: gone\n  utterance 9: b.wav: gone\n"
      "  utterance 7: a.wav: gone\n  utterance 9: b.wav: gone\n"
      "The limit, data.failing_utterances, is 0.2 of 10. Correct the recordings, or raise the "
      "limit.");
}

TEST(FailedAudio, IsCalledByItsName) {
  const std::string message = test::message_of<DataError>([] {
    comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
      FailedAudio audio(0, 10, [](std::uint64_t id) { return "b.jsonl: " + std::to_string(id); });
      audio.check(world, 0, 1, [] { return std::vector<FailedUtterance>{{7, "a.wav: gone"}}; });
    });
  });
  EXPECT_NE(message.find("\n  b.jsonl: 7: a.wav: gone\n"), std::string::npos) << message;
}

/// Nine utterances to train on, seven to validate on, of which some go once all were indexed.
class FailingRun : public testing::Test {
 protected:
  FailingRun() {
    test::write_tone_corpus(in("train.jsonl"), 9, 1);
    test::write_tone_corpus(in("test.jsonl"), 7, 2);
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  void train(const std::vector<std::string>& overrides, const std::vector<std::string>& gone) {
    const configs::Config config =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), in("test.jsonl"), in("output")),
                              "recipe", layers::model_families(), overrides);
    TrainingObserver observer;
    observer.begin = [&](std::int64_t, std::int64_t) {
      for (const std::string& name : gone) std::filesystem::remove(in(name));
    };
    observer.step = [&](const StepReport& report) { step_ = report; };
    observer.validation = [&](const EvaluationReport& report) { validation_ = report; };
    comm::run_as_threads(
        {.ranks = config.pipeline.stages * config.pipeline.replicas},
        [&](comm::Communicator& world) { runtime::train({config}, world, observer); });
  }

  test::TemporaryFolder folder_;
  StepReport step_;
  EvaluationReport validation_;
};

const std::vector<std::string> kFourOfTraining = {"train-0.wav", "train-3.wav", "train-4.wav",
                                                  "train-7.wav"};
// Each utterance a micro-batch, so that both replicas of a step have some.
const std::vector<std::string> kTwoReplicas = {
    "pipeline.replicas=2", "data.micro_batch_utterances=1", "data.micro_batches=9",
    "trainer.steps=1", "data.validation="};

TEST_F(FailingRun, CountsWhatFailsOnAnyReplica) {
  auto overrides = kTwoReplicas;
  overrides.push_back("data.failing_utterances=0.5");
  train(overrides, kFourOfTraining);
  EXPECT_EQ(step_.failed_utterances, 4);
}

TEST_F(FailingRun, ThrowsForFailuresOfAllReplicasTogether) {
  auto overrides = kTwoReplicas;
  overrides.push_back("data.failing_utterances=0.4");
  const std::string message =
      test::message_of<DataError>([&] { train(overrides, kFourOfTraining); });
  for (const std::string& part : kFourOfTraining)
    EXPECT_NE(message.find(part + ": no such file"), std::string::npos) << message;
  EXPECT_NE(message.find("data.failing_utterances, is 0.4 of 9"), std::string::npos) << message;
}

TEST_F(FailingRun, LeavesFailedRecordingsOutOfAnEvaluation) {
  train({"pipeline.stages=2", "trainer.steps=1", "data.failing_utterances=0.3"},
        {"test-1.wav", "test-5.wav"});
  EXPECT_EQ(validation_.utterances, 5);
  EXPECT_EQ(validation_.skipped, 2);
  const EvaluationReport with_failures = validation_;

  test::write_tone_corpus(in("test.jsonl"), 7, 2);
  std::istringstream lines(test::read_file(in("test.jsonl")));
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.find("test-1") == line.npos && line.find("test-5") == line.npos) kept += line + "\n";
  test::write_file(in("test.jsonl"), kept);
  std::filesystem::remove_all(in("output"));
  train({"pipeline.stages=2", "trainer.steps=1"}, {});
  EXPECT_EQ(validation_.utterances, 5);
  EXPECT_EQ(validation_.characters, with_failures.characters);
  EXPECT_EQ(validation_.character_edits, with_failures.character_edits);
  EXPECT_EQ(validation_.words, with_failures.words);
  EXPECT_NEAR(validation_.loss, with_failures.loss, 1e-6 * validation_.loss);
}

}  // namespace
}  // namespace penstock::runtime
