#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/checkpoint/output_folder.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class SavingBeside : public testing::Test {
 protected:
  void train(const std::string& output, std::vector<std::string> more, test::Ranks ranks) const {
    more.insert(more.end(), {"trainer.validate_every=-1", "trainer.keep=9"});
    const auto outcome = folder_.train(output, more, ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("training waits"), std::string::npos) << outcome.err;
  }
  test::Outcome run_in_shell(const std::string& script) const {
    return test::run_program({"timeout", "-k", "2", "60", "sh", "-c", script});
  }
  std::string command(const std::string& output, const std::string& more) const {
    return PENSTOCK_BINARY " train " + folder_.in("recipe.toml") +
           " trainer.output=" + folder_.in(output) + " data.validation= " + more;
  }
  /// No file grows beyond 1 MiB, which the shard of this model needs.
  static std::string full_disk(const std::string& run) {
    return "sh -c \"trap '' XFSZ; ulimit -S -f 2048; exec " + run + " model.hidden=200\"";
  }
  /// Ends after the first step that metrics.jsonl tells.
  std::string signalled(const std::string& run, const std::string& signal) const {
    return run + " & until grep -q step '" + folder_.in("stopped/metrics.jsonl") +
           "' 2> /dev/null; do sleep 0.05; done; kill -" + signal + " $!; wait $!";
  }
  std::int64_t newest(const std::string& output) const {
    const auto stored = runtime::list_checkpoints(folder_.in(output));
    return stored.empty() ? -1 : stored.back().step;
  }
  void expect_resumes_exactly(std::int64_t stopped_at) const {
    const std::string end = "trainer.steps=" + std::to_string(stopped_at + 2);
    train("stopped", {end, "trainer.resume=true"}, {});
    train("whole", {end}, {});
    EXPECT_EQ(folder_.record("stopped"), folder_.record("whole"));
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(SavingBeside, ChangesNoBitOfAnyCheckpoint) {
  train("plain", {"trainer.steps=4", "trainer.checkpoint_every=1000"}, {});
  const auto four = folder_.record("plain");
  train("plain", {"trainer.steps=7", "trainer.checkpoint_every=1000", "trainer.resume=true"}, {});
  const auto seven = folder_.record("plain");
  const std::vector<std::vector<std::string>> layouts = {
      {"pipeline.stages=2", "pipeline.replicas=2", "pipeline.shard_optimizer=true"},
      {"pipeline.stages=4", "pipeline.post_validation=true"}};
  for (const auto& layout : layouts) {
    const std::string output = layout[0].substr(layout[0].size() - 1);
    std::vector<std::string> words = {"trainer.steps=7", "trainer.checkpoint_every=1"};
    words.insert(words.end(), layout.begin(), layout.end());
    train(output, words, {4});
    EXPECT_EQ(folder_.record(output), seven) << layout[0];
    EXPECT_EQ(folder_.record(output + "/" + runtime::checkpoint_name(4)).tensors, four.tensors)
        << layout[0];
    EXPECT_EQ(runtime::list_checkpoints(folder_.in(output)).size(), 7u);
  }
}

TEST_F(SavingBeside, WaitsWhereTheCopyHasNoRoom) {
  const auto plan = folder_.run({"plan", folder_.in("recipe.toml"), "trainer.validate_every=-1",
                                 "trainer.steps=3", "--json", "--computed"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const double planned = nlohmann::json::parse(plan.out)["plan"][0]["bytes"]["total"];
  const auto outcome = folder_.train(
      "tight", {"trainer.steps=3", "trainer.checkpoint_every=1", "trainer.keep=9",
                "pipeline.memory_gib=" + std::to_string((planned + 10000) / (1 << 30)),
                "trainer.validate_every=-1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("training waits while a checkpoint is written: a copy of the state"),
            std::string::npos)
      << outcome.err;
  train("roomy", {"trainer.steps=3"}, {});
  EXPECT_EQ(folder_.record("tight"), folder_.record("roomy"));
  EXPECT_EQ(runtime::list_checkpoints(folder_.in("tight")).size(), 3u);
}

TEST_F(SavingBeside, AFailedSaveEndsNothingButItself) {
  const std::string said = folder_.in("said");
  const auto outcome =
      run_in_shell(full_disk(command("full", "trainer.steps=1000000 trainer.checkpoint_every=2")) +
                   " 2> " + said + " & until grep -q 'Earlier ones stay' " + said +
                   " 2> /dev/null; do sleep 0.05; done; "
                   "prlimit --fsize=unlimited --pid $! && kill -TERM $!; wait $!");
  const std::string text = test::read_file(said);
  EXPECT_EQ(outcome.code, 85) << text;
  EXPECT_NE(text.find("it is tried again in 1 s"), std::string::npos) << text;
  EXPECT_NE(text.find("the checkpoint of step 2 can't be written: rank 0: "), std::string::npos)
      << text;
  EXPECT_EQ(text.find("until the checkpoint of step 2 was written"), std::string::npos) << text;
  EXPECT_GT(newest("full"), 2);
}

TEST_F(SavingBeside, ALastSaveThatFailsIsAnError) {
  const auto outcome = run_in_shell(full_disk(command("full", "trainer.steps=1")));
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("penstock: rank 0: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << outcome.err;
  EXPECT_EQ(newest("full"), -1);
}

TEST_F(SavingBeside, ASignalSavesAndEndsTheRun) {
  const auto outcome = run_in_shell(signalled(
      command("stopped", "trainer.steps=1000000 trainer.checkpoint_every=1000000"), "TERM"));
  EXPECT_EQ(outcome.code, 85) << outcome.err;
  EXPECT_NE(outcome.out.find("stopped on request: "), std::string::npos) << outcome.out;
  ASSERT_GE(newest("stopped"), 1);
  expect_resumes_exactly(newest("stopped"));
}

TEST_F(SavingBeside, ASignalToMpirunStopsAllRanks) {
  const std::string train = PENSTOCK_MPIRUN " --allow-run-as-root --oversubscribe -np 2 " +
                            command("stopped", "pipeline.stages=2 trainer.steps=1000000");
  const auto outcome = run_in_shell(signalled(train, "USR1"));
  EXPECT_EQ(outcome.code, 85) << outcome.err;
  ASSERT_GE(newest("stopped"), 1);
  expect_resumes_exactly(newest("stopped"));
}

}  // namespace
}  // namespace penstock::tools
