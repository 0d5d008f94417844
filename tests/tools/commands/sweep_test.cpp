#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "runtime/checkpoint/output_lock.h"
#include "runtime/supervisor/child_process.h"
#include "tests/support/runtime/training_folder.h"
#include "tools/sweep/sweep_folder.h"

namespace penstock::tools {
namespace {

/// Sweeps of the tone corpus.
class SweepCommand : public testing::Test {
 protected:
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"sweep", folder_.in("recipe.toml"), "trainer.steps=6", "-o",
                                      folder_.in("sweep")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  test::Outcome sweep(const std::vector<std::string>& more) const {
    return folder_.run(words(more));
  }
  std::string in(const std::string& name) const { return folder_.in("sweep/" + name); }

  /// Returns the lines of sweep.csv after the head, by run.
  std::map<std::string, std::string> rows() const {
    std::istringstream lines(test::read_file(in("sweep.csv")));
    std::map<std::string, std::string> rows;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) rows[line.substr(0, line.find(','))] = line;
    return rows;
  }
  std::filesystem::file_time_type written(const std::string& name) const {
    return std::filesystem::last_write_time(in(name));
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

// A run of a sweep has the bits of a training with its values.
TEST_F(SweepCommand, TrainsEachCombination) {
  const auto outcome =
      sweep({"optimizer.learning_rate=0.01,0.02", "trainer.seed=1,2", "--parallel", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(rows().size(), 4u);
  for (const auto& [run, row] : rows()) EXPECT_NE(row.find(",done,"), std::string::npos) << row;
  ASSERT_EQ(
      folder_.train("alone", {"trainer.steps=6", "optimizer.learning_rate=0.02", "trainer.seed=1"})
          .code,
      0);
  EXPECT_EQ(folder_.record("sweep/run-003"), folder_.record("alone"));
  EXPECT_NE(outcome.out.find("best: " + in("run-")), std::string::npos) << outcome.out;
  EXPECT_NE(test::read_file(in("sweep.html")).find("4 runs, 4 done"), std::string::npos);
}

TEST_F(SweepCommand, RepeatsNothingThatIsDone) {
  ASSERT_EQ(sweep({"trainer.seed=1,2"}).code, 0);
  const auto log = written("run-001.log"), metrics = written("run-001/metrics.jsonl");
  const auto again = sweep({"trainer.seed=1,2"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(written("run-001.log"), log);
  EXPECT_EQ(written("run-001/metrics.jsonl"), metrics);
}

TEST_F(SweepCommand, GrowsByNewRunsAlone) {
  const std::string rate = "optimizer.learning_rate=1e-3..1e-1@log";
  ASSERT_EQ(sweep({rate, "--runs", "1"}).code, 0);
  const auto log = written("run-001.log");
  const std::string first = rows().at("1");
  const auto grown = sweep({rate, "--runs", "2"});
  EXPECT_EQ(grown.code, 0) << grown.err;
  EXPECT_EQ(rows().at("1"), first);
  EXPECT_EQ(rows().size(), 2u);
  EXPECT_EQ(written("run-001.log"), log);
}

TEST_F(SweepCommand, AnotherSweepIsRefused) {
  ASSERT_EQ(sweep({"trainer.seed=1,2", "--slurm"}).code, 0);
  const auto other = sweep({"trainer.seed=1,2", "optimizer.learning_rate=0.5"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("\n  optimizer.learning_rate: "), std::string::npos) << other.err;
  EXPECT_NE(other.err.find(", and now 0.5"), std::string::npos) << other.err;
}

TEST_F(SweepCommand, AWrongValueStartsNothing) {
  const auto outcome = sweep({"model.hidden=8,0"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("run 2 of 2, model.hidden=0: "), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(in("")));
}

TEST_F(SweepCommand, OptionsWithoutEffectAreRefused) {
  for (const auto& [option, value] :
       {std::pair{"--seed", "2"}, std::pair{"--min-steps", "2"}, std::pair{"--only", "9"}}) {
    const auto outcome = sweep({"trainer.seed=1,2", option, value});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(option), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(in("")));
}

TEST_F(SweepCommand, ShowChangesNoSweep) {
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--show"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(in("")));
  ASSERT_EQ(sweep({"trainer.seed=1..9", "--runs", "1", "--slurm"}).code, 0);
  const std::string before = test::read_file(in("sweep.json"));
  const auto shown = sweep({"trainer.seed=1..9", "--runs", "2", "--show"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_EQ(test::read_file(in("sweep.json")), before);
  for (const char* option : {"--show", "--slurm"})
    EXPECT_EQ(sweep({"trainer.seed=1..9", "--runs", "1", "--retry", option}).code, 2) << option;
}

TEST_F(SweepCommand, ALockedFolderStaysAsItIs) {
  ASSERT_EQ(sweep({"trainer.seed=1..9", "--runs", "1", "--slurm"}).code, 0);
  const std::string before = test::read_file(in("sweep.json"));
  test::write_file(in("run-001.json"), R"({"code":1,"steps":6,"error":"","done":0})");
  const runtime::OutputLock lock(in(""), kSweepLock);
  const auto outcome = sweep({"trainer.seed=1..9", "--runs", "2", "--retry"});
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_EQ(test::read_file(in("sweep.json")), before);
  EXPECT_TRUE(std::filesystem::exists(in("run-001.json"))) << "its failure was forgotten";
}

TEST_F(SweepCommand, ATaskForgetsItsOwnFailure) {
  ASSERT_EQ(sweep({"trainer.seed=1,2", "--slurm"}).code, 0);
  for (const char* name : {"run-001.json", "run-002.json"})
    test::write_file(in(name), R"({"code":1,"steps":6,"error":"","done":0})");
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--only", "1"}).code, 1);
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--only", "1", "--retry"}).code, 0);
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--only", "2"}).code, 1) << "run 2 stays failed";
}

TEST_F(SweepCommand, AFailureStopsNoOther) {
  const auto outcome =
      sweep({"data.train=" + folder_.in("none.jsonl") + "," + folder_.in("train.jsonl")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(rows().at("1").find(",failed,"), std::string::npos);
  EXPECT_NE(rows().at("2").find(",done,"), std::string::npos);
  EXPECT_NE(outcome.out.find("run 1 failed: "), std::string::npos) << outcome.out;
  const auto log = written("run-001.log");
  const std::string train =
      "data.train=" + folder_.in("none.jsonl") + "," + folder_.in("train.jsonl");
  EXPECT_EQ(sweep({train}).code, 0);
  EXPECT_EQ(written("run-001.log"), log) << "it was tried again";
  EXPECT_EQ(sweep({train, "--retry"}).code, 0);
  EXPECT_NE(written("run-001.log"), log);
}

TEST_F(SweepCommand, AllFailuresAreAFailure) {
  const auto outcome =
      sweep({"data.train=" + folder_.in("none.jsonl") + "," + folder_.in("neither.jsonl")});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

// Rungs of 3 and 6 steps; the survivor has the bits of a training that nobody paused.
TEST_F(SweepCommand, HalvingResumesTheBest) {
  const auto outcome = sweep({"optimizer.learning_rate=1e-3..1e-1@log", "--runs", "3", "--halving",
                              "2", "--metric", "loss"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  int done = 0;
  std::string best;
  for (const auto& [run, row] : rows()) {
    if (row.find(",done,") == std::string::npos) {
      EXPECT_NE(row.find(",left at step 3,"), std::string::npos) << row;
      continue;
    }
    ++done;
    best = run;
    const std::size_t value = row.find(',') + 1;
    const std::string rate = row.substr(value, row.find(',', value) - value);
    ASSERT_EQ(folder_
                  .train("alone", {"trainer.steps=6", "optimizer.learning_rate=" + rate,
                                   "trainer.best_metric=loss"})
                  .code,
              0);
  }
  EXPECT_EQ(done, 1);
  EXPECT_EQ(folder_.record("sweep/run-00" + best), folder_.record("alone"));
}

TEST_F(SweepCommand, AStoppedSweepGoesOn) {
  const std::vector<std::string> run = {"trainer.seed=1..9", "--runs", "1", "trainer.steps=24",
                                        "trainer.validate_every=99"};
  std::vector<std::string> command = words(run);
  command.insert(command.begin(), PENSTOCK_BINARY);
  runtime::ChildProcess process({command});
  const auto stepped = [&] {
    return std::filesystem::exists(in("run-001/metrics.jsonl")) &&
           test::read_file(in("run-001/metrics.jsonl")).find("{\"step\":2,") != std::string::npos;
  };
  for (int i = 0; i < 6000 && !stepped(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  process.signal(SIGINT);
  ASSERT_TRUE(process.wait(std::chrono::seconds(30)));
  EXPECT_EQ(process.exit_code(), 85);
  const auto rest = sweep(run);
  ASSERT_EQ(rest.code, 0) << rest.err;
  const std::string row = rows().at("1");
  const std::string seed = "trainer.seed=" + row.substr(2, row.find(',', 2) - 2);
  ASSERT_EQ(folder_.train("alone", {"trainer.steps=24", "trainer.validate_every=99", seed}).code,
            0);
  EXPECT_EQ(folder_.record("sweep/run-001"), folder_.record("alone"));
}

TEST_F(SweepCommand, ATaskTrainsItsRun) {
  const std::vector<std::string> seeds = {"trainer.seed=1,2", "--only", "2"};
  const auto outcome = sweep(seeds);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(in("run-002/metrics.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(in("run-001")));
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--only", "3"}).code, 2);
  EXPECT_EQ(sweep({"trainer.seed=1,2", "--only", "1", "--halving", "2"}).code, 2);
}

// The script's own line trains a run, with the words of the sweep and its program.
TEST_F(SweepCommand, TheArrayTrainsAllRuns) {
  const auto script = sweep({"trainer.seed=1,2", "--slurm"});
  ASSERT_EQ(script.code, 0) << script.err;
  test::write_file(folder_.in("job.sh"), script.out);
  for (const char* task : {"1", "2"}) {
    const auto ran = runtime::run_command(
        {{"bash", folder_.in("job.sh")}, {{"SLURM_ARRAY_TASK_ID", task}, {"SLURM_JOB_ID", "7"}}},
        std::chrono::seconds(30));
    EXPECT_EQ(ran.code, 0) << ran.errors;
  }
  const auto table = sweep({"trainer.seed=1,2", "--show"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(rows().size(), 2u);
  for (const auto& [run, row] : rows()) EXPECT_NE(row.find(",done,"), std::string::npos) << row;
}

}  // namespace
}  // namespace penstock::tools
