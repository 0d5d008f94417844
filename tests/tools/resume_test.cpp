#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_lock.h"
#include "runtime/checkpoint/retention.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// An output folder with whole checkpoints of steps 3 and 6.
class Resume : public testing::Test {
 protected:
  Resume() {
    const auto outcome = folder_.train(
        "output", {"trainer.steps=6", "trainer.checkpoint_every=3", "trainer.validate_every=6"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
  }
  test::Outcome resume(std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(), {"trainer.resume=true", "trainer.validate_every=-1"});
    return folder_.train("output", overrides);
  }
  std::string shard() const {
    return folder_.in("output/checkpoint-000000006/stage-0.safetensors");
  }
  void expect_refused(const std::vector<std::string>& words, const std::string& said) const {
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 4) << words.front();
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
  void expect_passed_over() const {
    for (const std::string& path :
         {folder_.in("output"), folder_.in("output") + "/checkpoint-000000006"}) {
      expect_refused({"evaluate", path, folder_.in("validation.jsonl")}, shard());
      expect_refused({"transcribe", path, folder_.in("train-0.wav")}, shard());
      expect_refused({"info", path}, shard());
    }
    const auto outcome = resume({"trainer.steps=7"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("checkpoint-000000006 is passed over: " + shard()),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(folder_.record("output").losses.size(), 7u);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Resume, SaysWhereNothingIsLeftToDo) {
  const auto words = resume({"trainer.steps=6"});
  EXPECT_EQ(words.code, 0) << words.err;
  EXPECT_NE(words.out.find("nothing left to do"), std::string::npos) << words.out;
  EXPECT_NE(words.out.find("step 6"), std::string::npos) << words.out;
  const auto outcome = resume({"trainer.steps=6", "--json"});
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["steps"], 0);
  EXPECT_EQ(report["step"], 6);
  EXPECT_TRUE(report["loss"].is_null());
}

TEST_F(Resume, TellsEachValidationOnce) {
  const auto outcome = folder_.train("validated", {"trainer.steps=4", "trainer.validate_every=2"});
  const std::string told = outcome.out + outcome.err;
  const std::regex line("step (\\d+): validation loss");
  std::vector<std::string> steps;
  for (std::sregex_iterator at(told.begin(), told.end(), line), end; at != end; ++at)
    steps.push_back((*at)[1]);
  EXPECT_EQ(steps, (std::vector<std::string>{"2", "4"})) << told;
}

TEST_F(Resume, MustBeAskedFor) {
  const auto outcome = folder_.train("output", {});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("trainer.resume=true"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder_.record("output").losses.size(), 6u);
}

TEST_F(Resume, IsBitEqualWithEveryOptimizer) {
  for (const std::string kind : {"lamb", "novograd", "sgd"}) {
    const auto train = [&](const std::string& output, std::vector<std::string> more, int ranks) {
      more.insert(more.end(),
                  {"optimizer.kind=" + kind, "trainer.lanes=1", "trainer.validate_every=-1"});
      if (kind == "sgd") more.push_back("optimizer.larc=0.01");
      const auto outcome = folder_.train(output, more, {ranks});
      EXPECT_EQ(outcome.code, 0) << kind << ": " << outcome.err;
    };
    train(kind, {"trainer.steps=6"}, 0);
    train(kind + "-parts", {"trainer.steps=4"}, 0);
    train(kind + "-parts", {"trainer.steps=6", "trainer.resume=true", "pipeline.stages=2"}, 2);
    EXPECT_EQ(folder_.record(kind + "-parts"), folder_.record(kind)) << kind;
  }
}

TEST_F(Resume, IsBitEqualWithStateInFewerBytes) {
  for (const std::string state : {"bf16", "8bit"}) {
    const auto train = [&](const std::string& output, std::vector<std::string> more, int ranks) {
      more.insert(more.end(),
                  {"optimizer.state=" + state, "trainer.lanes=2", "trainer.validate_every=-1"});
      const auto outcome = folder_.train(output, more, {ranks});
      EXPECT_EQ(outcome.code, 0) << state << ": " << outcome.err;
    };
    train(state, {"trainer.steps=6"}, 0);
    train(state + "-parts", {"trainer.steps=4", "pipeline.stages=2"}, 2);
    train(state + "-parts",
          {"trainer.steps=6", "trainer.resume=true", "pipeline.replicas=2",
           "pipeline.shard_optimizer=true"},
          2);
    EXPECT_EQ(folder_.record(state + "-parts"), folder_.record(state)) << state;
  }
}

TEST_F(Resume, AppendsMetricsBehindItsStep) {
  ASSERT_EQ(resume({"trainer.steps=8"}).code, 0);
  std::ifstream metrics(folder_.in("output/metrics.jsonl"));
  std::vector<int> steps;
  int validations = 0;
  for (std::string line; std::getline(metrics, line);) {
    const auto object = nlohmann::json::parse(line);
    if (!object.contains("loss_hex")) {
      EXPECT_TRUE(object.contains("validation_loss")) << line;
      EXPECT_FALSE(object.contains("loss")) << line;
      ++validations;
      continue;
    }
    steps.push_back(object["step"]);
    for (const char* key : {"loss", "learning_rate", "gradient_norm", "audio_seconds_per_second"})
      EXPECT_TRUE(object[key].is_number()) << key;
    EXPECT_EQ(std::strtod(object["loss_hex"].get<std::string>().c_str(), nullptr), object["loss"]);
  }
  EXPECT_EQ(steps, (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(validations, 1);
}

TEST_F(Resume, RejectsOtherModelsDataSeedsAndOptimizers) {
  for (const char* change :
       {"model.hidden=13", "text.alphabet=abcde", "features.window=hann", "data.micro_batches=3",
        "data.speeds=[1]", "trainer.seed=2", "optimizer.learning_rate=0.02", "optimizer.state=8bit",
        "lr_schedule.warmup=3"}) {
    const auto outcome = resume({change});
    EXPECT_EQ(outcome.code, 2) << change;
    const std::string key = std::string(change).substr(0, std::string(change).find('='));
    EXPECT_NE(outcome.err.find("\n  " + key + ": was "), std::string::npos) << outcome.err;
  }
  const auto outcome = resume({"data.train=" + folder_.in("validation.jsonl")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("data.train"), std::string::npos) << outcome.err;
}

TEST_F(Resume, AcceptsByTheLineThatARefusalNames) {
  const std::vector<std::string> changes = {"optimizer.learning_rate=0.02", "trainer.steps=7",
                                            "data.train=" + folder_.in("validation.jsonl")};
  const auto line_of = [](const test::Outcome& refused) {
    EXPECT_EQ(refused.code, 2);
    const auto at = refused.err.find("\n  trainer.accept = ");
    if (at == std::string::npos) throw std::runtime_error(refused.err);
    const std::string line = refused.err.substr(at + 3, refused.err.find('\n', at + 1) - at - 3);
    return line.substr(0, 14) + "=" + line.substr(17);  // as an override
  };
  auto accepting = changes;
  accepting.push_back(line_of(resume(changes)));
  EXPECT_EQ(accepting.back(), "trainer.accept=[\"optimizer.learning_rate\"]");
  accepting.back() = line_of(resume(accepting));  // the utterances are looked at after the keys
  const auto outcome = resume(accepting);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto told = folder_.run({"info", folder_.in("output")});
  EXPECT_NE(told.out.find("\nfrom step 6 on, optimizer.learning_rate = 0.02, which was 0.01\n"),
            std::string::npos)
      << told.out;
  const auto corrections = nlohmann::json::parse(
      folder_.run({"info", folder_.in("output"), "--json"}).out)["corrections"];
  ASSERT_EQ(corrections.size(), 2u);
  EXPECT_EQ(
      corrections[0],
      (nlohmann::json{
          {"step", 6}, {"key", "optimizer.learning_rate"}, {"before", "0.01"}, {"after", "0.02"}}));
  EXPECT_EQ(corrections[1]["key"], "data.train");
}

TEST_F(Resume, RefusesToAcceptWhatNoKeyIs) {
  for (const auto& [key, said] :
       {std::pair{"optimizer.lr", "is no key"}, std::pair{"model.hidden", "no run can change"}}) {
    const auto outcome = resume({std::string("trainer.accept=[") + key + "]"});
    EXPECT_EQ(outcome.code, 2) << key;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
}

TEST_F(Resume, LetsTrainerPipelineAndValidationChange) {
  const auto outcome =
      resume({"trainer.steps=7", "trainer.keep=1", "pipeline.schedule=gpipe", "pipeline.replicas=2",
              "data.validation=" + folder_.in("train.jsonl")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Resume, MarksTheBestOfADeadRun) {
  runtime::mark_best(folder_.in("output"), {3, "wer", 1});
  ASSERT_EQ(resume({"trainer.steps=7", "trainer.keep=1"}).code, 0);
  EXPECT_EQ(runtime::best_checkpoint(folder_.in("output"))->step, 6);
  EXPECT_TRUE(fs::exists(shard()));
}

TEST_F(Resume, SeeksTheBestAnewOnOtherUtterances) {
  const auto outcome = resume({"trainer.steps=7", "trainer.validate_every=7",
                               "data.validation=" + folder_.in("train.jsonl")});
  ASSERT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("was chosen on another data.validation"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(runtime::best_checkpoint(folder_.in("output"))->step, 7);
}

TEST_F(Resume, GivesEveryReplicaALane) {
  ASSERT_EQ(folder_.train("one", {"trainer.lanes=1", "trainer.steps=2"}).code, 0);
  const auto outcome = folder_.train(
      "one", {"trainer.resume=true", "trainer.lanes=0", "trainer.steps=4", "pipeline.replicas=2"},
      {2});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("the checkpoint has 1 lane, but"), std::string::npos) << outcome.err;
}

TEST_F(Resume, TakesTheLanesThatAreAskedFor) {
  const auto outcome = resume({"trainer.lanes=3", "trainer.steps=8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("trainer.lanes = 3"), std::string::npos) << outcome.err;
  EXPECT_EQ(runtime::open_checkpoint(folder_.in("output")).state().lanes, 3);
}

TEST_F(Resume, KeepsItsLanesAloneUnlessAsked) {
  ASSERT_EQ(folder_.train("three", {"trainer.lanes=3", "trainer.steps=2"}).code, 0);
  const auto outcome = folder_.train("three", {"trainer.resume=true", "trainer.lanes=0",
                                               "trainer.steps=4", "pipeline.replicas=2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(runtime::open_checkpoint(folder_.in("three")).state().lanes, 3);
}

TEST_F(Resume, PassesOverATruncatedShard) {
  fs::resize_file(shard(), fs::file_size(shard()) - 9);
  expect_passed_over();
}

TEST_F(Resume, PassesOverAFlippedBitInOptimizerState) {
  std::string bytes = test::read_file(shard());
  const auto table =
      nlohmann::json::parse(folder_.run({"info", folder_.in("output"), "--json"}).out)["tensors"];
  for (const auto& tensor : table)
    if (tensor["name"] == "optimizer.square/conv2.weight")
      bytes.at(tensor["bytes"][0].get<std::size_t>() + 5) ^= 4;
  test::write_file(shard(), bytes);
  expect_passed_over();
}

// Each of two ranks looks at its share.
TEST_F(Resume, VerifiesWhatIsAskedFor) {
  std::string bytes = test::read_file(shard());
  const auto table =
      nlohmann::json::parse(folder_.run({"info", folder_.in("output"), "--json"}).out)["tensors"];
  for (const auto& tensor : table)
    if (tensor["name"] == "optimizer.mean/output.weight")
      bytes.at(tensor["bytes"][1].get<std::size_t>() - 1) ^= 4;
  test::write_file(shard(), bytes);
  const std::string output = folder_.in("output");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"evaluate", output, folder_.in("validation.jsonl")},
        {"transcribe", output, folder_.in("train-0.wav")},
        {"info", output}}) {
    for (const int ranks : {0, 2}) {
      EXPECT_EQ(folder_.run(words, {ranks}).code, 4) << words.front() << ", " << ranks;
      auto limited = words;
      limited.insert(limited.end(), {"--verify", "read"});
      const auto outcome = folder_.run(limited, {ranks});
      EXPECT_EQ(outcome.code, 0) << words.front() << ", " << ranks << ": " << outcome.err;
    }
  }
}

TEST_F(Resume, SetsNothingAsideForARejectedRecipe) {
  fs::resize_file(shard(), fs::file_size(shard()) - 9);
  EXPECT_EQ(resume({"trainer.seed=2"}).code, 2);
  EXPECT_EQ(resume({"data.train=" + folder_.in("validation.jsonl")}).code, 2);
  EXPECT_TRUE(fs::exists(shard()));
  EXPECT_NE(test::read_file(folder_.in("output/metrics.jsonl")).find("{\"step\":6,"),
            std::string::npos);
}

// A copy, a checkpoint of another run, and a file.
TEST_F(Resume, PassesOverWhatHasAnotherStep) {
  ASSERT_EQ(folder_.train("other", {"trainer.steps=2", "trainer.seed=5"}).code, 0);
  const auto copy = [&](const std::string& from, const std::string& to) {
    fs::copy(folder_.in(from), folder_.in("output/" + to), fs::copy_options::recursive);
  };
  copy("output/checkpoint-000000003", "checkpoint-000000014");
  copy("other/checkpoint-000000002", "checkpoint-000000020");
  test::write_file(folder_.in("output/checkpoint-000000099"), "text");
  const auto outcome = resume({"trainer.steps=8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said : {"checkpoint-000000014 is passed over: its manifest says step 3, not 14",
                           "checkpoint-000000020 is passed over: its manifest says step 2, not 20",
                           "checkpoint-000000099 is ignored",
                           "checkpoint-000000014 is renamed to checkpoint-000000014.mislabelled"})
    EXPECT_NE(outcome.err.find(said), std::string::npos) << said << "\n" << outcome.err;
  for (const char* name : {"checkpoint-000000003", "checkpoint-000000006", "checkpoint-000000008",
                           "checkpoint-000000014.mislabelled", "checkpoint-000000020.mislabelled"})
    EXPECT_TRUE(fs::exists(folder_.in("output/") + name + "/manifest.json")) << name;
  EXPECT_EQ(folder_.record("output").losses.size(), 8u);
}

TEST_F(Resume, RejectsAFolderThatAnotherRunHolds) {
  // Neither run may stumble over what the other one tries the folder with.
  fs::create_directory(folder_.in("output/.probe"));
  {
    const runtime::OutputLock lock(folder_.in("output"));
    const auto outcome = resume({"trainer.steps=7"});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.err.find("another run writes there, process "), std::string::npos)
        << outcome.err;
  }
  fs::remove(folder_.in("output/.probe"));
  EXPECT_EQ(resume({"trainer.steps=7"}).code, 0);
}

TEST_F(Resume, RejectsAFolderWithoutAWholeCheckpoint) {
  for (const char* name : {"checkpoint-000000003", "checkpoint-000000006"})
    fs::resize_file(folder_.in("output/") + name + "/stage-0.safetensors", 100);
  const auto outcome = resume({"trainer.steps=7"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("holds 2 checkpoints, but none is whole"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
