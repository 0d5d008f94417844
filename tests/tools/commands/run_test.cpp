#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "runtime/store/http_client.h"
#include "runtime/supervisor/child_process.h"
#include "runtime/supervisor/http_server.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

using std::chrono::milliseconds;

/// A supervised run of the tone corpus, which the test disturbs, beside one that nobody disturbs.
class RunCommand : public ::testing::Test {
 protected:
  RunCommand() : folder_(PENSTOCK_BINARY, PENSTOCK_MPIRUN) {}

  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {PENSTOCK_BINARY,
                                      "run",
                                      folder_.in("recipe.toml"),
                                      "trainer.output=" + folder_.in("output"),
                                      "trainer.checkpoint_every=4",
                                      "data.validation="};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// Starts `penstock run` with these words.
  void start(const std::vector<std::string>& more) {
    run_ = std::make_unique<runtime::ChildProcess>(runtime::Command{words(more), environment_});
    reader_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        runtime::read_available(run_->output(), output_);
        runtime::read_available(run_->errors(), errors_);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }

  int end() {
    EXPECT_TRUE(run_->wait(std::chrono::seconds(50)));
    reader_.request_stop();
    reader_.join();
    runtime::read_available(run_->errors(), errors_);
    return run_->exit_code().value_or(-1);
  }

  void await(const std::function<bool()>& condition) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    while (!condition() && std::chrono::steady_clock::now() < limit && !run_->exit_code())
      std::this_thread::sleep_for(milliseconds(5));
  }

  std::string file(const std::string& name) const {
    try {
      return test::read_file(folder_.in("output") + "/" + name);
    } catch (const std::exception&) {
      return "";
    }
  }

  void await_step(int step) const {
    await([&] {
      return file("metrics.jsonl").find("{\"step\":" + std::to_string(step) + ",") !=
             std::string::npos;
    });
  }

  /// Returns the ranks' processes, by rank, as status.json does not list them: from /proc.
  std::vector<pid_t> ranks() const {
    const auto found = runtime::run_command(
        {{"pgrep", "-f", "^" PENSTOCK_BINARY " train " + folder_.in("recipe.toml")}},
        std::chrono::seconds(5));
    std::istringstream in(found.output);
    std::vector<pid_t> processes;
    for (pid_t process = 0; in >> process;) processes.push_back(process);
    return processes;
  }

  /// Returns the rank that mpirun gave the process.
  static int rank_of(pid_t process) {
    const std::string variables = test::read_file("/proc/" + std::to_string(process) + "/environ");
    const std::string name = "OMPI_COMM_WORLD_RANK=";
    return std::stoi(variables.substr(variables.find(name) + name.size()));
  }

  std::vector<nlohmann::json> incidents(const std::string& kind) const {
    std::istringstream in(file("incidents.jsonl"));
    std::vector<nlohmann::json> found;
    for (std::string line; std::getline(in, line);)
      if (const auto json = nlohmann::json::parse(line); json["kind"] == kind)
        found.push_back(json);
    return found;
  }

  /// Expects the losses and tensors of a run of one process that nobody disturbed.
  void expect_undisturbed(const std::vector<std::string>& recipe) {
    std::vector<std::string> words = {"trainer.checkpoint_every=4", "data.validation="};
    words.insert(words.end(), recipe.begin(), recipe.end());
    const auto outcome = folder_.train("undisturbed", words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(folder_.record("output"), folder_.record("undisturbed"));
    EXPECT_TRUE(ranks().empty());
  }

  test::TrainingFolder folder_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::unique_ptr<runtime::ChildProcess> run_;
  std::string output_, errors_;
  std::jthread reader_;
};

TEST_F(RunCommand, RestartsAfterAKilledRank) {
  start({"pipeline.stages=2"});
  await_step(6);
  const std::vector<pid_t> processes = ranks();
  ASSERT_EQ(processes.size(), 2);
  ::kill(processes[1], SIGKILL);
  EXPECT_EQ(end(), 0) << errors_;
  ASSERT_EQ(incidents("failure").size(), 1);
  EXPECT_NE(incidents("failure")[0]["message"].get<std::string>().find("killed by signal 9"),
            std::string::npos);
  EXPECT_EQ(incidents("start").size(), 2);
  expect_undisturbed({});
}

TEST_F(RunCommand, IsDoneWhereTheTrainingEndedEarly) {
  for (int start_number = 0; start_number < 2; ++start_number) {
    start({"data.validation=" + folder_.in("validation.jsonl"), "trainer.validate_every=2",
           "trainer.early_stopping_patience=2", "pipeline.stages=2"});
    EXPECT_EQ(end(), 0) << errors_;
  }
  EXPECT_EQ(incidents("start").size(), 2);
  ASSERT_EQ(incidents("done").size(), 2);
  for (const auto& incident : incidents("done"))
    EXPECT_EQ(incident["message"].get<std::string>().find(
                  "ended early: no better wer in 2 validations than "),
              0)
        << incident;
}

TEST_F(RunCommand, StopsWith85AndGoesOn) {
  start({"pipeline.stages=2", "trainer.steps=1000000"});
  await_step(3);
  run_->signal(SIGTERM);
  run_->signal(SIGUSR1);
  run_->signal(SIGTERM);
  EXPECT_EQ(end(), 85) << errors_;
  EXPECT_EQ(incidents("stop").size(), 1);
  EXPECT_TRUE(ranks().empty());
  std::istringstream metrics(file("metrics.jsonl"));
  int steps = 5;
  for (std::string line; std::getline(metrics, line);) ++steps;
  const std::string more = "trainer.steps=" + std::to_string(steps);
  start({"pipeline.stages=1", more});
  EXPECT_EQ(end(), 0) << errors_;
  expect_undisturbed({more});
}

TEST_F(RunCommand, EndsAHangAndNamesTheRank) {
  start({"pipeline.stages=2", "trainer.steps=400", "--action-seconds=8"});
  await_step(6);
  const std::vector<pid_t> processes = ranks();
  ASSERT_EQ(processes.size(), 2);
  const int stopped_rank = rank_of(processes[1]);
  ::kill(processes[1], SIGSTOP);
  EXPECT_EQ(end(), 0) << errors_;
  ASSERT_EQ(incidents("hang").size(), 1);
  const auto hang = incidents("hang")[0];
  EXPECT_EQ(hang["code"], 86);
  EXPECT_EQ(hang["rank"], stopped_rank);
  EXPECT_NE(hang["message"].get<std::string>().find("no rank made progress for"),
            std::string::npos);
  expect_undisturbed({"trainer.steps=400"});
}

TEST_F(RunCommand, FollowsItsHosts) {
  const std::string hosts = folder_.in("hosts");
  const auto set_slots = [&](int slots) {
    test::write_file(hosts + ".new", "localhost slots=" + std::to_string(slots) + "\n");
    std::filesystem::rename(hosts + ".new", hosts);
  };
  set_slots(4);
  start({"pipeline.replicas=4", "trainer.lanes=4", "trainer.steps=200", "--discover",
         "cat " + hosts, "--discover-seconds=0.1"});
  const auto await_start = [&](std::size_t starts) {
    await([&] { return incidents("start").size() >= starts; });
  };
  await_step(3);
  for (const int slots : {2, 3, 4}) {
    set_slots(slots);
    await_start(incidents("start").size() + 1);
  }
  EXPECT_EQ(end(), 0) << errors_;
  EXPECT_EQ(incidents("start").size(), 4) << file("incidents.jsonl");
  EXPECT_TRUE(incidents("failure").empty()) << file("incidents.jsonl");
  expect_undisturbed({"trainer.lanes=4", "trainer.steps=200"});
}

/// With trainer.scaling, the step of two replicas has half as many micro-batches as that of four.
TEST_F(RunCommand, ScalesTheLearningRateWithItsHosts) {
  const std::string hosts = folder_.in("hosts");
  test::write_file(hosts, "localhost slots=4\n");
  start({"pipeline.replicas=4", "data.micro_batches=4", "trainer.steps=120",
         "trainer.scaling=linear", "trainer.lanes=4", "optimizer.learning_rate=1e-4",
         "lr_schedule.kind=constant", "lr_schedule.warmup=0", "trainer.checkpoint_every=1000",
         "--discover", "cat " + hosts, "--discover-seconds=0.1"});
  await_step(3);
  test::write_file(hosts + ".new", "localhost slots=2\n");
  std::filesystem::rename(hosts + ".new", hosts);
  EXPECT_EQ(end(), 0) << errors_;
  ASSERT_EQ(incidents("start").size(), 2) << file("incidents.jsonl");
  const std::int64_t changed = incidents("start")[1]["step"];
  EXPECT_NE(file("status.json").find("\"steps\":" + std::to_string(240 - changed)),
            std::string::npos)
      << file("status.json");
  std::map<int, int> utterances;  // of each epoch
  std::istringstream in(file("metrics.jsonl"));
  std::int64_t steps = 0, epoch = 0;
  for (std::string line; std::getline(in, line);) {
    const auto step = nlohmann::json::parse(line);
    if (!step.contains("learning_rate")) continue;
    ++steps;
    EXPECT_DOUBLE_EQ(step["learning_rate"], step["step"] > changed ? 5e-5 : 1e-4) << line;
    utterances[epoch = step["epoch"]] += step["utterances"].get<int>();
  }
  EXPECT_EQ(steps, changed + 2 * (120 - changed));
  ASSERT_GT(epoch, 2);
  for (int e = 1; e < epoch; ++e) EXPECT_EQ(utterances[e], utterances[0]) << e;
}

TEST_F(RunCommand, ALaterIncarnationKeepsRanksFromCommitting) {
  start({"trainer.steps=40"});
  await_step(6);
  test::write_file(folder_.in("output") + "/.incarnation", "100\n");
  EXPECT_EQ(end(), 0) << errors_;
  EXPECT_NE(errors_.find("incarnation 100 has taken over from 1"), std::string::npos) << errors_;
  ASSERT_EQ(incidents("start").size(), 2);
  EXPECT_EQ(incidents("start")[1]["incarnation"], 101);
  expect_undisturbed({"trainer.steps=40"});
}

TEST_F(RunCommand, NeverRepeatsAnErrorOfTheData) {
  start({"data.train=" + folder_.in("missing.jsonl")});
  EXPECT_EQ(end(), 3) << errors_;
  EXPECT_EQ(incidents("start").size(), 1);
  EXPECT_NE(errors_.find("a restart would meet the same error"), std::string::npos) << errors_;
}

TEST_F(RunCommand, BoundsRestartsWithoutProgress) {
  start({"--max-restarts=1", "--mpirun=false"});
  EXPECT_EQ(end(), 1) << errors_;
  EXPECT_EQ(incidents("start").size(), 2);
  EXPECT_NE(errors_.find("2 incarnations in a row made no new checkpoint"), std::string::npos)
      << errors_;
}

TEST_F(RunCommand, LeavesNoProcessWhenItIsKilled) {
  start({"pipeline.stages=2", "trainer.steps=1000000"});
  await_step(3);
  ASSERT_EQ(ranks().size(), 2);
  run_->signal(SIGKILL);
  EXPECT_EQ(end(), 128 + SIGKILL);
  for (int i = 0; i < 1000 && !ranks().empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(ranks().empty());
}

TEST_F(RunCommand, StopsOnANotice) {
  start({"trainer.steps=1000000", "--notice-file=" + folder_.in("notice")});
  await_step(2);
  test::write_file(folder_.in("notice"), "");
  EXPECT_EQ(end(), 85) << errors_;
  EXPECT_NE(errors_.find("a notice of preemption"), std::string::npos) << errors_;
}

TEST_F(RunCommand, StopsWhenItsCloudTakesTheMachine) {
  std::atomic<bool> takes_away = false;
  const runtime::HttpServer cloud("127.0.0.1", 0, [&](const runtime::HttpCall&) {
    return runtime::HttpReply{.body = takes_away ? "TRUE" : "FALSE"};
  });
  environment_ = {{"GCE_METADATA_HOST", "127.0.0.1:" + std::to_string(cloud.port())}};
  start({"trainer.steps=1000000", "--notice-cloud=gcp"});
  await_step(2);
  takes_away = true;
  EXPECT_EQ(end(), 85) << errors_;
  EXPECT_NE(errors_.find("a notice of preemption"), std::string::npos) << errors_;
}

TEST_F(RunCommand, NeedsTheCloudThatItAsks) {
  environment_ = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1"}};
  start({"--notice-cloud=aws"});
  EXPECT_EQ(end(), 2) << errors_;
  EXPECT_NE(errors_.find("the metadata service at http://127.0.0.1:1"), std::string::npos)
      << errors_;
}

TEST_F(RunCommand, ServesItsMetrics) {
  start({"trainer.steps=1000000", "--metrics-port=0"});
  await_step(3);
  const std::string name = "Prometheus reads the metrics at ";
  await([&] { return errors_.find(name) != std::string::npos; });
  const std::string rest = errors_.substr(errors_.find(name) + name.size());
  std::string text;
  await([&] {
    text = runtime::HttpClient({.proxy = false})
               .attempt({.url = rest.substr(0, rest.find('\n'))})
               .body;
    return text.find("\npenstock_up 1\n") != std::string::npos;
  });
  EXPECT_NE(text.find("\npenstock_steps 1000000\n"), std::string::npos) << text;
  run_->signal(SIGTERM);
  EXPECT_EQ(end(), 85) << errors_;
}

TEST_F(RunCommand, StopsBeforeItsTimeIsOver) {
  start({"trainer.steps=1000000", "--max-seconds=17"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(end(), 85) << errors_;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(17));
  EXPECT_NE(file("LATEST"), "");
}

TEST_F(RunCommand, WatchShowsTheRun) {
  start({"pipeline.stages=2"});
  await_step(6);
  const auto shown = folder_.run({"watch", folder_.in("output"), "--once"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("2 stages × 1 replica on "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("last step             loss "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(" start: 2 stages × 1 replica on "), std::string::npos) << shown.out;
  EXPECT_EQ(end(), 0) << errors_;
  EXPECT_EQ(folder_.run({"watch", folder_.in("nothing"), "--once"}).code, 4);
}

}  // namespace
}  // namespace penstock::tools
