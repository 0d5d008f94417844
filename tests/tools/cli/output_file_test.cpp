#include "tools/cli/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST(OutputFile, IsRejectedBeforehandWithItsOption) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "a", gone = folder.path() / "gone";
  const auto error_message = [](std::initializer_list<NamedFile> written,
                                const std::vector<NamedFile>& read = {}) {
    return test::message_of<ConfigError>([&] { check_outputs(written, read); });
  };
  EXPECT_EQ(error_message({{"--output", file}, {"--report", ""}, {"--csv", ""}}), "");
  EXPECT_EQ(error_message({{"--output", file}, {"--report", gone + "/b"}}),
            "--report: can't write " + gone + "/b: there is no folder " + gone +
                ": make it, or name another file");
  EXPECT_EQ(error_message({{"--output", "/dev/null"}, {"--report", "/dev/null"}}), "");
  const std::string same = folder.path() / "." / "a";
  const std::string both = "--output and --report both name " + same;
  EXPECT_EQ(error_message({{"--output", file}, {"--report", same}}),
            both + ": give each a file of its own");
  test::write_file(file, "old");
  fs::create_symlink(file, folder.path() / "link");
  EXPECT_NE(error_message({{"--output", file}, {"--report", folder.path() / "link"}}), "");

  EXPECT_EQ(error_message({{"--output", file}}, {{"--cluster", same}}),
            "--cluster and --output both name " + file + ": give each a file of its own");
  EXPECT_NE(error_message({{"--output", folder.path() / "link"}}, {{"--cluster", file}}), "");
  EXPECT_EQ(
      error_message({{"--output", file}}, {{"--cluster", gone}, {"--costs", gone}, {"--data"}}),
      "");
  EXPECT_EQ(
      error_message({{"--output", folder.path() / "b"}}, {{"--cluster", folder.path() / "b"}}), "")
      << "a name of what comes with penstock";
  EXPECT_EQ(error_message({{"--output", "/dev/null"}}, {{"--data", "/dev/null"}}), "");
}

/// The recipe's recordings are not there, which is what work would meet first.
class OutputFileOf : public testing::Test {
 protected:
  OutputFileOf() {
    test::write_file(folder_.in("cluster.toml"),
                     "[kinds.core]\nmemory_gib = 1\nspeed = 1\n[[node]]\nname = \"host\"\n"
                     "devices = { core = 2 }\nwithin = { latency_us = 1, gb_per_s = 1 }\n");
  }

  void expect_refused(const std::string& what, Words words, test::Ranks ranks = {}) const {
    words.insert(words.end(), {"-o", folder_.in("gone/out")});
    const auto outcome = folder_.run(words, ranks);
    EXPECT_EQ(outcome.code, 2) << what << outcome.err;
    EXPECT_EQ(outcome.out, "") << what;
    const std::string said = "penstock: --output: can't write " + folder_.in("gone/out") +
                             ": there is no folder " + folder_.in("gone");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << what << outcome.err;
    EXPECT_EQ(outcome.err.find(said), outcome.err.rfind(said))
        << what << outcome.err;  // by one rank
    EXPECT_EQ(outcome.err.find("gone.jsonl"), std::string::npos) << what << outcome.err;
  }
  Words with_recipe(const std::string& command, Words more = {}) const {
    more.insert(more.begin(), {command, folder_.in("recipe.toml"), "data.train=/gone.jsonl"});
    return more;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  const Words cluster_{"--cluster", folder_.in("cluster.toml")};
};

TEST_F(OutputFileOf, EachCommandIsCheckedBeforeItsWork) {
  expect_refused("plan", with_recipe("plan"));
  expect_refused("plan on a cluster", with_recipe("plan", cluster_));
  expect_refused("search", with_recipe("search", cluster_));
  expect_refused("trace", with_recipe("trace"));
  expect_refused("profile", with_recipe("profile"));
}

TEST_F(OutputFileOf, WhatACommandReadsStaysAsItIs) {
  const std::string recipe = folder_.in("recipe.toml"), cluster = folder_.in("cluster.toml");
  for (const std::string name : {"costs.json", "p.json"}) test::write_file(folder_.in(name), "{}");
  test::write_file(folder_.in("model.toml"), "[model]\nhidden = 19\n");
  const Words names{"recipe.toml", "cluster.toml", "costs.json",      "p.json",
                    "model.toml",  "train.jsonl",  "validation.jsonl"};
  Words texts;
  for (const std::string& name : names) texts.push_back(test::read_file(folder_.in(name)));
  const auto expect_kept = [&](Words words, const std::string& option, const std::string& file) {
    words.insert(words.end(), {"-o", file});
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_NE(outcome.err.find(option + " and --output both name " + file), std::string::npos)
        << outcome.err;
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(test::read_file(folder_.in(names[i])), texts[i]) << words[0];
  };
  for (const std::string command : {"plan", "search"}) {
    expect_kept(with_recipe(command, cluster_), "the recipe", recipe);
    expect_kept(with_recipe(command, cluster_), "--cluster", cluster);
    Words costs = cluster_;
    costs.insert(costs.end(), {"--costs", folder_.in("costs.json")});
    expect_kept(with_recipe(command, costs), "--costs", folder_.in("costs.json"));
    Words own{command, recipe};
    own.insert(own.end(), cluster_.begin(), cluster_.end());
    expect_kept(own, "data.train", folder_.in("train.jsonl"));
    own.push_back("model.base=" + folder_.in("model.toml"));
    expect_kept(own, "model.base", folder_.in("model.toml"));
  }
  expect_kept({"plan", recipe}, "the recipe", recipe);
  expect_kept({"plan", recipe, "--cluster", cluster, "--data", folder_.in("train.jsonl")}, "--data",
              folder_.in("train.jsonl"));
  expect_kept({"plan", recipe}, "data.validation", folder_.in("validation.jsonl"));
  expect_kept({"profile", recipe}, "the recipe", recipe);
  expect_kept({"trace", recipe}, "the recipe", recipe);
  expect_kept({"trace", recipe, "--profile", folder_.in("p.json")}, "--profile",
              folder_.in("p.json"));
}

TEST_F(OutputFileOf, AJobEndsOnAllRanks) {
  auto measured = cluster_;
  measured.insert(measured.end(), {"--measure", "1"});
  expect_refused("search --measure", with_recipe("search", measured), {.count = 2});
  expect_refused("profile", with_recipe("profile"), {.count = 2});
  expect_refused("trace", with_recipe("trace", {"pipeline.stages=2"}), {.count = 2});
  expect_refused("profile --links", {"profile", "--links"}, {.count = 2});
  expect_refused("plan", with_recipe("plan"), {.count = 2});
}

TEST_F(OutputFileOf, APlanLeavesNeitherFileWhereOneFails) {
  const std::string plan = folder_.in("plan.toml"), page = folder_.in("gone/page.html");
  Words words{"plan", folder_.in("recipe.toml"), "-o", plan, "--report", page};
  words.insert(words.end(), cluster_.begin(), cluster_.end());
  EXPECT_EQ(folder_.run(words).code, 2);
  EXPECT_FALSE(fs::exists(plan));
  test::write_file(plan, "old");
  EXPECT_EQ(folder_.run(words).code, 2);
  words[5] = plan;
  const auto same = folder_.run(words);
  EXPECT_EQ(same.code, 2);
  EXPECT_NE(same.err.find("--output and --report both name"), std::string::npos) << same.err;
  // A fault found later leaves the file as well.
  words[5] = folder_.in("page.html");
  words.push_back("pipeline.memory_gib=0.00001");
  EXPECT_EQ(folder_.run(words).code, 2);
  EXPECT_EQ(test::read_file(plan), "old");
  EXPECT_FALSE(fs::exists(words[5]));
  EXPECT_FALSE(fs::exists(plan + ".partial"));
}

TEST_F(OutputFileOf, OthersAreNamedByTheirOption) {
  const auto report =
      folder_.run({"plan", "--profile", test::source("tests/partition/data/gnmt.json"), "--stages",
                   "4", "--json", "--report", folder_.in("gone/r")});
  EXPECT_EQ(report.code, 2);
  EXPECT_EQ(report.out, "");
  EXPECT_NE(report.err.find("--report: can't write"), std::string::npos) << report.err;
  const auto csv = folder_.run(
      {"schedule", "gpipe", "--stages", "2", "--micro-batches", "3", "--csv", folder_.in("")});
  EXPECT_EQ(csv.code, 2);
  EXPECT_EQ(csv.out, "");
  EXPECT_NE(csv.err.find("--csv: can't write"), std::string::npos) << csv.err;
}

class ResultFileTest : public testing::Test {
 protected:
  std::string in(const char* name) const { return (folder_.path() / name).string(); }
  ResultFile open(bool resume, const std::string& made_by = "checkpoint 1") const {
    return {{"--output", path_, resume}, made_by};
  }
  std::string refusal(bool resume, const std::string& made_by = "checkpoint 1") const {
    return test::message_of<ConfigError>([&] { open(resume, made_by); });
  }

  test::TemporaryFolder folder_;
  std::string path_ = in("out.jsonl");
};

TEST_F(ResultFileTest, GoesOnBehindTheLastAppend) {
  {
    ResultFile file = open(true);  // also where there is none
    EXPECT_EQ(file.state(), "");
    EXPECT_FALSE(std::filesystem::exists(path_));
    file.append("one\ntwo\n", "2 lines");
    file.append("three\n", "3 \"lines\"");
  }
  const std::string whole = test::read_file(path_);
  for (const std::string torn : {"", "fo", "four\nfi"}) {
    test::write_file(path_, whole + torn);
    ResultFile file = open(true);
    EXPECT_EQ(file.state(), "3 \"lines\"");
    EXPECT_EQ(test::read_file(path_), "one\ntwo\nthree\n");
  }
  open(true).append("four\n", "4");
  EXPECT_EQ(test::read_file(path_), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(open(true).state(), "4");
}

TEST_F(ResultFileTest, ReplacesNothingUnasked) {
  open(false).append("one\n", "1");
  EXPECT_NE(refusal(false).find("--output: " + path_ + " is there already: go on with it by "),
            std::string::npos)
      << refusal(false);
  const std::string other = refusal(true, "checkpoint 2");
  EXPECT_NE(other.find("it is of\n  checkpoint 1\nand this run of\n  checkpoint 2"),
            std::string::npos)
      << other;
  EXPECT_EQ(test::read_file(path_), "one\n");
}

TEST_F(ResultFileTest, NeedsWhatItKnewOfTheFile) {
  test::write_file(path_, "somebody's\n");
  EXPECT_NE(refusal(true).find("out.jsonl.progress is missing or damaged"), std::string::npos);
  test::write_file(progress_file(path_), "{\"bytes\": 3}");
  EXPECT_NE(refusal(true).find("is missing or damaged"), std::string::npos);
  EXPECT_EQ(test::read_file(path_), "somebody's\n");
  std::filesystem::remove(path_);
  open(true).append("one\ntwo\n", "2");
  test::write_file(path_, "one\n");
  EXPECT_NE(refusal(true).find("has been cut: it holds 4 bytes, but held 8"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_EQ(open(true).state(), "");  // it begins anew
  std::filesystem::create_directory(path_);
  EXPECT_NE(refusal(true).find("is no file"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
