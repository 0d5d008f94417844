#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/quantities.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

using test::Ranks;
using test::TrainingRecord;

struct Layout {
  std::string name;
  std::vector<std::string> overrides;
  Ranks ranks;
};

const Layout kAlone = {"Alone", {}, {}};
const Layout kStages = {"Stages", {"pipeline.stages=2"}, {2}};
const Layout kStagesOverTcp = {"StagesOverTcp", {"pipeline.stages=2"}, {2, true}};
const Layout kStagesInAFolder = {"StagesInAFolder", {"pipeline.stages=2"}, {2, false, true}};
const Layout kThreeStages = {"ThreeStages", {"pipeline.stages=3"}, {3}};
const Layout kFourStages = {"FourStages", {"pipeline.stages=4", "pipeline.schedule=gpipe"}, {4}};
const Layout kReplicas = {"Replicas", {"pipeline.replicas=2"}, {2}};
const Layout kGrid = {
    "Grid", {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.schedule=gpipe"}, {4}};

const Layout kPartedPasses = {
    "PartedPasses", {"pipeline.stages=3", "pipeline.schedule=zb-h1"}, {3}};
const Layout kChunksInARound = {"ChunksInARound",
                                {"pipeline.stages=2", "pipeline.replicas=2",
                                 "pipeline.schedule=interleaved", "pipeline.shard_optimizer=true"},
                                {4}};
const Layout kChunksDownAndUp = {
    "ChunksDownAndUp", {"pipeline.stages=2", "pipeline.schedule=zb-v"}, {2}};
const Layout kChunksOfOneRank = {"ChunksOfOneRank", {"pipeline.schedule=zb-v"}, {}};
const Layout kShards = {"Shards", {"pipeline.replicas=2", "pipeline.shard_optimizer=true"}, {2}};
const Layout kShardedGrid = {
    "ShardedGrid",
    {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.shard_optimizer=true"},
    {4}};

const Layout kLateNorms = {
    "LateNorms",
    {"pipeline.stages=3", "pipeline.schedule=zb-h2", "pipeline.post_validation=true"},
    {3}};
const Layout kLateGrid = {"LateGrid",
                          {"pipeline.stages=2", "pipeline.replicas=2",
                           "pipeline.shard_optimizer=true", "pipeline.post_validation=true"},
                          {4}};

// Every one finds lists of its own; the order is the run's.
const std::string kOrder = "trainer.order=[2, 0, 3, 1]";
const Layout kFoundAlone = {"FoundAlone", {kOrder}, {}};
const Layout kFoundStages = {
    "FoundStages", {"pipeline.stages=2", "pipeline.schedule=found", kOrder}, {2}};
const Layout kFoundThreeStages = {
    "FoundThreeStages", {"pipeline.stages=3", "pipeline.schedule=found", kOrder}, {3}};
const Layout kFoundGrid = {"FoundGrid",
                           {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.schedule=found",
                            "pipeline.shard_optimizer=true", kOrder},
                           {4}};
const Layout kOrderedChunks = {
    "OrderedChunks", {"pipeline.stages=2", "pipeline.schedule=zb-v", kOrder}, {2}};

class Layouts : public testing::Test {
 protected:
  Layouts() {
    std::filesystem::create_directory(folder_.in("noises"));
    test::write_sound(folder_.in("noises/long.wav"), test::make_sound(40001, 5), {0x010002, 16000});
    test::write_sound(folder_.in("noises/short.wav"), test::make_sound(1601, 6), {0x010002, 8000});
    std::filesystem::create_directory(folder_.in("rooms"));
    const std::vector<float> response{0, 0.1f, 0.9f, 0.4f, -0.3f, 0.2f};
    test::write_sound(folder_.in("rooms/small.wav"), response, {0x010002, 8000});
    const std::string recipe = folder_.in("recipe.toml");
    test::write_file(recipe, test::read_file(recipe) +
                                 "[augment]\nfreq_masks = 2\nfreq_width = 9\n"
                                 "time_masks = 2\ntime_warp = 5\nroom_share = 0.5\nrooms = \"" +
                                 folder_.in("rooms") + "\"\nnoise_share = 0.7\nnoise = \"" +
                                 folder_.in("noises") +
                                 "\"\ngain_db = [-6, 6]\ncodec_share = 0.5\n"
                                 "codecs = [\"g711-mulaw\", \"gsm\", \"band-300-3400\", "
                                 "\"opus-12\"]\n");
  }

  void train(const std::string& output, const Layout& layout,
             std::vector<std::string> more = {}) const {
    more.insert(more.end(), layout.overrides.begin(), layout.overrides.end());
    more.push_back("trainer.validate_every=-1");
    const auto outcome = folder_.train(output, more, layout.ranks);
    ASSERT_EQ(outcome.code, 0) << layout.name << ": " << outcome.err;
  }
  void expect_equal(const std::string& a, const std::string& b) const {
    const TrainingRecord of_a = folder_.record(a), of_b = folder_.record(b);
    EXPECT_EQ(of_a.losses.size(), 20u);
    EXPECT_EQ(of_a.losses, of_b.losses);
    EXPECT_GT(of_a.tensors.size(), 50u);
    ASSERT_EQ(of_a.tensors.size(), of_b.tensors.size());
    for (const auto& [name, bytes] : of_a.tensors)
      EXPECT_TRUE(of_b.tensors.at(name) == bytes) << name << " differs in some bit";
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

class Layout20Steps : public Layouts, public testing::WithParamInterface<Layout> {};

TEST_P(Layout20Steps, ChangesNoBit) {
  train("alone", kAlone);
  train("other", GetParam());
  expect_equal("alone", "other");
}

INSTANTIATE_TEST_SUITE_P(Of, Layout20Steps,
                         testing::Values(kStages, kStagesOverTcp, kStagesInAFolder, kThreeStages,
                                         kFourStages, kReplicas, kGrid, kShards, kPartedPasses,
                                         kChunksInARound, kChunksDownAndUp, kChunksOfOneRank,
                                         kLateNorms, kLateGrid),
                         [](const auto& info) { return info.param.name; });

class FoundLayout20Steps : public Layouts, public testing::WithParamInterface<Layout> {};

TEST_P(FoundLayout20Steps, EqualsOneStageInItsOrder) {
  train("alone", kFoundAlone);
  train("other", GetParam());
  expect_equal("alone", "other");
}

INSTANTIATE_TEST_SUITE_P(Of, FoundLayout20Steps,
                         testing::Values(kFoundStages, kFoundThreeStages, kFoundGrid,
                                         kOrderedChunks),
                         [](const auto& info) { return info.param.name; });

// A file's lists are those of the schedule that wrote it; its checkpoint's plan holds them.
TEST_F(Layouts, AFileOfListsIsTrainedAndResumed) {
  const std::string lists = folder_.in("lists.csv"), plan = folder_.in("lists.toml");
  const auto written =
      folder_.run({"schedule", "v-half", "--stages", "2", "--micro-batches", "4", "--csv", lists});
  ASSERT_EQ(written.code, 0) << written.err;
  const Layout named{"Named", {"pipeline.stages=2", "pipeline.schedule=v-half"}, {2}};
  const Layout file{"File", {"pipeline.stages=2", "pipeline.schedule=" + lists}, {2}};
  train("named", named);
  train("file", file);
  expect_equal("named", "file");
  train("resumed", file, {"trainer.steps=10"});
  const auto of_plan = runtime::open_checkpoint(folder_.in("resumed")).state().plan_toml;
  EXPECT_NE(of_plan.find("0F0,0F1"), std::string::npos) << of_plan;
  test::write_file(plan, of_plan);
  std::filesystem::remove(lists);
  train("resumed", {"Plan", {"pipeline.plan=" + plan}, {2}}, {"trainer.resume=true"});
  expect_equal("named", "resumed");
}

TEST_F(Layouts, RefusesAFileOfAnotherRun) {
  const auto refusal = [&](const std::string& text, std::vector<std::string> overrides) {
    const std::string lists = folder_.in("lists.csv");
    test::write_file(lists, text);
    std::vector<std::string> words{"plan", folder_.in("recipe.toml"), "--computed",
                                   "pipeline.schedule=" + lists};
    words.insert(words.end(), overrides.begin(), overrides.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string two = "0F0,0BW0\n1F0,1BW0\n";
  for (const auto& [text, overrides, said] :
       std::vector<std::tuple<std::string, std::vector<std::string>, const char*>>{
           {two, {"pipeline.stages=3"}, "lists.csv: has 2 rows, but pipeline.stages = 3"},
           {two, {"pipeline.stages=2"}, "lists.csv: is for 1 micro-batch, but a replica has 4"},
           {"0F0,0BW0\n1BW0,1F0\n", {"pipeline.stages=2"}, "row 2, column 1 (rank 1, backward"},
           {"", {}, "lists.csv: can't be read, or is empty"}}) {
    const std::string error = refusal(text, overrides);
    EXPECT_NE(error.find(said), std::string::npos) << error;
  }
}

// The order is found for the recipe's ranks, and kept wherever the run goes on.
TEST_F(Layouts, AFoundOrderStaysWithTheRun) {
  const std::vector<std::string> recipe = {"pipeline.stages=2", "pipeline.replicas=2",
                                           "pipeline.schedule=found"};
  train("job", {"", recipe, {4}});
  const std::string job_order = runtime::open_checkpoint(folder_.in("job")).state().plan_toml;
  train("alone", {"", recipe, {}});
  expect_equal("job", "alone");
  train("moved", {"", recipe, {4}}, {"trainer.steps=10"});
  train("moved", kThreeStages, {"trainer.resume=true"});
  expect_equal("job", "moved");
  const auto planned = folder_.run({"plan", folder_.in("recipe.toml"), "--computed", "-o",
                                    folder_.in("plan.toml"), "trainer.resume=true",
                                    "pipeline.stages=3", "trainer.output=" + folder_.in("moved")});
  EXPECT_EQ(planned.code, 0) << planned.err;
  const std::string of_plan = test::read_file(folder_.in("plan.toml"));
  EXPECT_NE(of_plan.find("order = ["), std::string::npos) << of_plan;
  EXPECT_EQ(of_plan.substr(of_plan.find("order = ["), 20),
            job_order.substr(job_order.find("order = ["), 20));
  const auto other =
      folder_.train("moved", {"trainer.resume=true", "trainer.order=[0, 1, 2, 3]"}, {});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("trainer.order is [0, 1, 2, 3], but"), std::string::npos) << other.err;
}

/// Stopped at step 10, within an epoch, in one layout, and resumed in another.
struct Move {
  Layout from, to;
};

class ResumedElsewhere : public Layouts, public testing::WithParamInterface<Move> {};

TEST_P(ResumedElsewhere, ChangesNoBit) {
  train("alone", kAlone);
  train("moved", GetParam().from, {"trainer.steps=10"});
  train("moved", GetParam().to, {"trainer.resume=true"});
  expect_equal("alone", "moved");
}

INSTANTIATE_TEST_SUITE_P(
    From, ResumedElsewhere,
    testing::Values(Move{kLateNorms, kLateGrid}, Move{kAlone, kGrid}, Move{kStages, kReplicas},
                    Move{kGrid, kAlone}, Move{kShardedGrid, kAlone}, Move{kAlone, kShards},
                    Move{kShards, kShardedGrid}, Move{kChunksDownAndUp, kGrid},
                    Move{kShards, kChunksDownAndUp}, Move{kChunksInARound, kPartedPasses}),
    [](const auto& info) { return info.param.from.name + "To" + info.param.to.name; });

// Another recording changes what a run hears.
TEST_F(Layouts, ARunKeepsItsNoises) {
  train("resumed", kAlone, {"trainer.steps=10"});
  test::write_sound(folder_.in("noises/third.wav"), test::make_sound(1602, 7), {0x010002, 8000});
  const auto refused = folder_.train("resumed", {"trainer.resume=true"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("was saved: augment.noise"), std::string::npos) << refused.err;
  train("resumed", kAlone, {"trainer.resume=true", "trainer.accept=[\"augment.noise\"]"});
  const auto changes = runtime::open_checkpoint(folder_.in("resumed")).state().corrections;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes.front().key, "augment.noise");
}

TEST_F(Layouts, RecogniseAlike) {
  train("trained", kReplicas,
        {"trainer.steps=40", "augment.room_share=0", "augment.noise_share=0",
         "augment.codec_share=0"});
  const auto json = [&](std::vector<std::string> words, Ranks ranks) {
    words.push_back("--json");
    const auto outcome = folder_.run(words, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto object = nlohmann::json::parse(outcome.out);
    object.erase("seconds");
    return object;
  };
  const std::vector<std::string> evaluate = {"evaluate", folder_.in("trained"),
                                             folder_.in("validation.jsonl")};
  const auto alone = json(evaluate, {});
  EXPECT_EQ(alone["utterances"], 7);
  EXPECT_LT(alone["cer"], 0.5);  // silence has 1
  EXPECT_EQ(json(evaluate, {3}), alone);
  EXPECT_EQ(json(evaluate, {2, true}), alone);
  for (const auto& [ranks, replicas] : {std::pair(2, "2"), std::pair(4, "2"), std::pair(9, "9")}) {
    std::vector<std::string> words = evaluate;
    words.insert(words.end(), {"--replicas", replicas});
    EXPECT_EQ(json(words, {ranks}), alone) << ranks << " ranks";
  }

  const std::vector<std::string> transcribe = {
      "transcribe", folder_.in("trained"), folder_.in("train-0.wav"), folder_.in("train-1.wav")};
  EXPECT_EQ(folder_.run(transcribe, {2}).out, folder_.run(transcribe).out);
  EXPECT_NE(folder_.run(transcribe).out, "");
}

TEST_F(Layouts, ARecipeNeedsItsNumberOfRanks) {
  for (int ranks : {1, 3}) {
    const auto outcome = folder_.train("output", {"pipeline.stages=2"}, {ranks});
    EXPECT_EQ(outcome.code, 2);
    const std::string said = fmt::format("the job has {}, but 2 stages", counted(ranks, "rank"));
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(said), outcome.err.rfind(said)) << "said twice: " << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.in("output")));
  }
}

}  // namespace
}  // namespace penstock::tools
