#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

class PlanCommand : public testing::Test {
 protected:
  test::Outcome plan(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"plan", folder_.in("recipe.toml")});
    return folder_.run(std::move(more), ranks);
  }
  nlohmann::json json(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.push_back("--json");
    const auto outcome = plan(std::move(more), ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(PlanCommand, TellsWhatEachStageHolds) {
  const auto whole = json({}), cut = json({"pipeline.stages=3", "pipeline.replicas=2"});
  EXPECT_EQ(cut["stages"], 3);
  EXPECT_EQ(cut["replicas"], 2);
  EXPECT_EQ(cut["lanes"], 2);
  EXPECT_EQ(cut["schedule"], "1f1b");
  EXPECT_GT(cut["step_s"], 0);
  EXPECT_LE(cut["bound"], 3);
  ASSERT_EQ(cut["plan"].size(), 3u);
  auto layers = nlohmann::json::array();
  std::int64_t parameters = 0;
  double share = 0;
  for (const auto& stage : cut["plan"]) {
    layers.insert(layers.end(), stage["layers"].begin(), stage["layers"].end());
    parameters += stage["parameters"].get<std::int64_t>();
    share += stage["time_share"].get<double>();
    std::int64_t bytes = 0;
    for (const char* part : {"weights", "gradients", "optimizer", "state", "saved", "messages",
                             "scratch", "reduction"})
      bytes += stage["bytes"][part].get<std::int64_t>();
    EXPECT_EQ(stage["bytes"]["total"], bytes);
    const auto slots = 2 * stage["bytes"]["weights"].get<std::int64_t>();
    EXPECT_GT(stage["bytes"]["optimizer"], slots);  // and the table of its norm blocks
    EXPECT_LT(stage["bytes"]["optimizer"], slots + 4096);
  }
  EXPECT_EQ(layers, whole["plan"][0]["layers"]);
  EXPECT_EQ(parameters, whole["plan"][0]["parameters"]);
  EXPECT_NEAR(share, 1, 3e-4);  // each to four digits
}

TEST_F(PlanCommand, PrintsATableOnce) {
  const std::vector<std::string> words = {"pipeline.stages=2", "--computed"};
  const auto outcome = plan(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said : {"conv1 to ", " to ctc", "parameters", "optimizer", "MiB of stage",
                           "1f1b: 4 micro-batches a step in 2 lanes, 2 stages × 1 replica"})
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << " is not in " << outcome.out;
  EXPECT_EQ(plan(words, {2}).out, outcome.out);
}

TEST_F(PlanCommand, EveryRecipePlans) {
  for (const auto& entry : std::filesystem::directory_iterator(test::source("configs/recipes"))) {
    std::vector<std::string> words = {"plan", entry.path(),
                                      "data.train=" + folder_.in("train.jsonl"),
                                      "data.validation=", "--computed"};
    const std::string recipe = test::read_file(entry.path());
    if (recipe.find("sentencepiece") != std::string::npos)
      words.push_back("text.model=" + test::source("tests/golden/pieces/unigram.model").string());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 0) << entry.path() << ": " << outcome.err;
    const auto has = [&](const char* text) { return recipe.find(text) != std::string::npos; };
    const bool writes = has("decoder = \"lm\"") || has("decoder = \"attention\"");
    const char* last = writes              ? " to decoder.output"
                       : has("decoder = ") ? " to transducer "
                                           : " to ctc ";
    EXPECT_NE(outcome.out.find(last), std::string::npos) << outcome.out;
  }
}

TEST_F(PlanCommand, ItsFileIsTrained) {
  const std::string file = folder_.in("plan.toml");
  const std::vector<std::string> recipe = {"pipeline.stages=2", "pipeline.schedule=gpipe"};
  json({recipe[0], recipe[1], "-o", file});
  const auto trained = folder_.train("planned", {"pipeline.plan=" + file, "trainer.steps=3"}, {2});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("2 stages × 1 replica, "), std::string::npos) << trained.err;
  ASSERT_EQ(folder_.train("alone", {"trainer.steps=3"}).code, 0);
  EXPECT_EQ(folder_.record("planned"), folder_.record("alone"));

  const auto many = folder_.train("many", {"pipeline.plan=" + file}, {3});
  EXPECT_EQ(many.code, 2);
  EXPECT_NE(many.err.find("mpirun -np 2, or change " + file), std::string::npos) << many.err;

  const auto other = folder_.train("other", {"pipeline.plan=" + file, "model.hidden=13"}, {2});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("plan.toml:"), std::string::npos) << other.err;
}

TEST_F(PlanCommand, ComparesTwoPlanFiles) {
  const std::string first = folder_.in("first.toml"), second = folder_.in("second.toml");
  json({"pipeline.stages=2", "--computed", "-o", first});
  json({"pipeline.stages=3", "--computed", "-o", second});
  const auto same = folder_.run({"plan", first, first, "--diff"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "Both plans train alike.\n");
  const auto other = folder_.run({"plan", first, second, "--diff"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("\nlayout  "), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("\nstage 2, memory"), std::string::npos) << other.out;
  const auto as_json = folder_.run({"plan", first, second, "--diff", "--json"});
  EXPECT_EQ(nlohmann::json::parse(as_json.out)["differences"][0]["what"], "layout");

  const auto one = folder_.run({"plan", first, "--diff"});
  EXPECT_EQ(one.code, 2);
  EXPECT_NE(one.err.find("--diff compares two plan files, but 1 is given"), std::string::npos)
      << one.err;
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--computed"}, {"--time-limit", "5"}}) {
    std::vector<std::string> words{"plan", first, second, "--diff"};
    words.insert(words.end(), option.begin(), option.end());
    const auto unheard = folder_.run(words);
    EXPECT_EQ(unheard.code, 2);
    EXPECT_NE(unheard.err.find(option.front() + " is for a plan that is made"), std::string::npos)
        << unheard.err;
  }
  EXPECT_NE(folder_.run({"plan", first, folder_.in("gone.toml"), "--diff"})
                .err.find("can't read the plan"),
            std::string::npos);
}

TEST_F(PlanCommand, RejectsWhatItCannotPlan) {
  EXPECT_EQ(plan({"pipeline.stagess=2"}).code, 2);
  EXPECT_EQ(plan({"data.train=/gone.jsonl"}).code, 3);
  const auto many = plan({"pipeline.stages=99", "--computed"});
  EXPECT_EQ(many.code, 2);
  EXPECT_NE(many.err.find("pipeline.stages = 99"), std::string::npos) << many.err;
  const auto tight = plan({"pipeline.memory_gib=0.000001", "--computed"});
  EXPECT_EQ(tight.code, 2);
  EXPECT_NE(tight.err.find("pipeline.memory_gib"), std::string::npos) << tight.err;
  const auto unwritten = plan({"--computed", "-o", folder_.in("gone/plan.toml")});
  EXPECT_EQ(unwritten.code, 2);
  EXPECT_NE(unwritten.err.find("gone/plan.toml"), std::string::npos) << unwritten.err;
}

TEST_F(PlanCommand, RejectsOptionsWithoutEffect) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--report", "r.html"},
                                             {"--schedule", "zb-v"},
                                             {"--stages", "2"},
                                             {"--costs", "c.json"},
                                             {"--seed", "1"},
                                             {"--objective", "step"}}) {
    const auto outcome = plan(words);
    EXPECT_EQ(outcome.code, 2) << words.front();
    EXPECT_NE(outcome.err.find(words.front() + " is for"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace penstock::tools
