#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

using Words = std::vector<std::string>;

/// Steps of a metrics.jsonl, or of a file like it, by number.
std::map<int, nlohmann::json> steps_of(const std::filesystem::path& file) {
  std::map<int, nlohmann::json> steps;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    auto step = nlohmann::json::parse(line);
    steps.emplace(step["step"].get<int>(), std::move(step));
  }
  return steps;
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// An output folder with a checkpoint of version 0.1, whose keys have the names of that version,
/// and its recipe under today's; tests/golden/checkpoint_0.1/make has made it.
class OldCheckpoint : public testing::Test {
 protected:
  OldCheckpoint() {
    std::filesystem::create_directory(folder_.in("output"));
    std::filesystem::copy(golden_ / "checkpoint-000000004",
                          folder_.in("output/checkpoint-000000004"));
    std::ofstream(folder_.in("recipe.toml"), std::ios::app)
        << "[lr_schedule]\nkind = 'cosine'\nwarmup = 2\ntotal_steps = 12\nmin_lr = 0.001\n";
    std::ofstream(cluster_)
        << "[kinds.core]\nmemory_gib = 1\nspeed = 1\n[[node]]\nname = \"host\"\n"
           "devices = { core = 2 }\nwithin = { latency_us = 1, gb_per_s = 1 }\n";
  }
  /// Runs a command that must succeed and say every renamed key once, on standard error alone.
  test::Outcome run(const Words& words, test::Ranks ranks = {}) const {
    test::Outcome outcome = folder_.run(words, ranks);
    EXPECT_EQ(outcome.code, 0) << words.front() << ": " << outcome.err;
    const std::map<std::string, std::string> renamed = {
        {"horizon", "total_steps"},    {"floor", "min_lr"}, {"kind", "kind"},
        {"warmup", "warmup"},          {"power", "power"},  {"decay", "decay"},
        {"decay_steps", "decay_steps"}};
    for (const auto& [before, now] : renamed) {
      const std::string line =
          "checkpoint-000000004: schedule." + before + " is now lr_schedule." + now + "\n";
      EXPECT_EQ(count_of(line, outcome.err), 1) << words.front() << ": " << outcome.err;
    }
    EXPECT_EQ(count_of(" is now lr_schedule.", outcome.err), 7) << words.front() << outcome.err;
    EXPECT_EQ(count_of(" is now lr_schedule.", outcome.out), 0) << words.front() << outcome.out;
    return outcome;
  }
  Words resuming(const std::string& command, const Words& more) const {
    Words words = {command, folder_.in("recipe.toml"), "trainer.resume=true", "trainer.device=cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::filesystem::path golden_ = test::source("tests/golden/checkpoint_0.1");
  std::string cluster_ = folder_.in("cluster.toml");
};

// Other compilers and processors add in other orders: a step's FP32 sums have some thousand terms,
// each rounded to 2^-24 of itself. Learning rates are FP64, from one cosine.
TEST_F(OldCheckpoint, ResumesToTheLossesOfItsVersion) {
  run(resuming("train", {"trainer.steps=8", "trainer.validate_every=-1"}));
  const auto was = steps_of(golden_ / "losses.jsonl"),
             is = steps_of(folder_.in("output/metrics.jsonl"));
  ASSERT_EQ(was.size(), 4u);
  ASSERT_EQ(is.size(), was.size());
  for (const auto& [number, step] : was) {
    const double loss = step["loss"], rate = step["learning_rate"];
    EXPECT_NEAR(is.at(number)["loss"].get<double>(), loss, 1e-4 * loss) << number;
    EXPECT_NEAR(is.at(number)["learning_rate"].get<double>(), rate, 1e-12 * rate) << number;
  }
}

TEST_F(OldCheckpoint, IsNamedByCommandsThatReadCheckpoints) {
  const std::string output = folder_.in("output");
  const Words evaluate = {"evaluate", output, folder_.in("validation.jsonl"), "--json"};
  EXPECT_EQ(nlohmann::json::parse(run(evaluate).out)["step"], 4);
  EXPECT_EQ(nlohmann::json::parse(run(evaluate, {.count = 2}).out)["step"], 4);
  run({"transcribe", output + "/checkpoint-000000004", folder_.in("train-0.wav")});
  run({"info", output});
  const auto info = nlohmann::json::parse(run({"info", output, "--json"}).out);
  EXPECT_EQ(info["config"]["schedule.floor"], "0.001");  // as the manifest has it
}

TEST_F(OldCheckpoint, IsNamedByCommandsThatPlan) {
  run(resuming("plan", {"--computed"}));
  const Words cluster = {"--cluster", cluster_, "--json"};
  EXPECT_TRUE(nlohmann::json::parse(run(resuming("plan", cluster)).out).contains("stages"));
  EXPECT_TRUE(nlohmann::json::parse(run(resuming("search", cluster)).out).contains("stages"));
}

}  // namespace
}  // namespace penstock::tools
