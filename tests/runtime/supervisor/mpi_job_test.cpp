#include "runtime/supervisor/mpi_job.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

bool has(const std::vector<std::string>& words, const std::vector<std::string>& sequence) {
  return std::search(words.begin(), words.end(), sequence.begin(), sequence.end()) != words.end();
}

TEST(MpiJob, NamesHostsWithTheirSlots) {
  const Command command = mpi_command({.mpi_options = {"--report-bindings"},
                                       .words = {"penstock", "train", "my.toml"},
                                       .ranks = 3,
                                       .hosts = {{"a", 2}, {"b", 1}},
                                       .incarnation = 7,
                                       .token = "/data/run"});
  EXPECT_TRUE(has(command.words, {"-np", "3"}));
  EXPECT_TRUE(has(command.words, {"--host", "a:2,b:1"}));
  EXPECT_TRUE(has(command.words, {"-x", "PENSTOCK_INCARNATION=7"}));
  EXPECT_TRUE(has(command.words, {"--mca", "odls_base_sigkill_timeout", "0"}));
  EXPECT_TRUE(has(command.words, {"--report-bindings", "penstock", "train", "my.toml"}));
  EXPECT_EQ(command.environment.front().second, "7");
}

/// A script that stands for mpirun: it prints what the ranks of a job would.
std::string script(const test::TemporaryFolder& folder, const std::string& text) {
  std::string file = folder.path() / "mpirun";
  test::write_file(file, "#!/bin/sh\n" + text);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

struct Heard {
  std::vector<RankActivity> activities;
  std::vector<RankEnd> ends;
  std::string output, errors;
};

int run_to_end(const MpiJobSpec& spec, Heard& heard) {
  MpiJob job(spec, {.activity = [&](const RankActivity& a) { heard.activities.push_back(a); },
                    .end = [&](const RankEnd& e) { heard.ends.push_back(e); },
                    .output = [&](const std::string& line) { heard.output += line + "\n"; },
                    .errors = [&](const std::string& text) { heard.errors += text; }});
  for (;;) {
    job.read();
    if (const auto code = job.ended()) return *code;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(MpiJob, TellsHeartbeatsFromOtherLines) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "beats", heartbeat_line(RankActivity{.rank = 1, .step = 4}) +
                                                heartbeat_line(RankEnd{.rank = 1, .code = 3}));
  Heard heard;
  const std::string mpirun = script(folder, "echo one; cat '" + (folder.path() / "beats").string() +
                                                "'; echo two >&2; printf three; exit 3\n");
  EXPECT_EQ(run_to_end({.mpirun = mpirun, .words = {"x"}, .temporary = folder.path()}, heard), 3);
  ASSERT_EQ(heard.activities.size(), 1);
  EXPECT_EQ(heard.activities[0].step, 4);
  ASSERT_EQ(heard.ends.size(), 1);
  EXPECT_EQ(heard.ends[0].code, 3);
  EXPECT_EQ(heard.output, "one\nthree\n");
  EXPECT_EQ(heard.errors, "two\n");
}

TEST(MpiJob, FindsTheKilledRank) {
  const auto killed = find_killed_rank(
      "mpirun noticed that process rank 1 with PID 14310 on node lion exited on signal 9 "
      "(Killed).\n");
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->rank, 1);
  EXPECT_EQ(killed->host, "lion");
  EXPECT_EQ(killed->signal, 9);
  EXPECT_FALSE(find_killed_rank("penstock: rank 1: no such file"));
}

TEST(MpiJob, FindsTheLostHost) {
  EXPECT_EQ(find_lost_host("ORTE has lost communication with a remote daemon.\n\n"
                           "  HNP daemon   : [[7345,0],0] on node lion\n"
                           "  Remote daemon: [[7345,0],3] on node tiger\n\nThis is usually"),
            "tiger");
  EXPECT_FALSE(find_lost_host("no such file"));
}

TEST(MpiJob, EndsProcessesByTheirToken) {
  ChildProcess ours({{"sleep", "60"}, {{kJobToken, "/a/run"}}});
  ChildProcess other({{"sleep", "60"}, {{kJobToken, "/a/run-2"}}});
  // The environment is that of the test until the program has started.
  for (int i = 0; i < 5000 && end_processes("/a/run") == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(ours.wait(std::chrono::seconds(5)));
  EXPECT_EQ(ours.exit_code(), 128 + SIGKILL);
  EXPECT_FALSE(other.exit_code());
}

}  // namespace
}  // namespace penstock::runtime
