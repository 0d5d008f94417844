#include "tools/sweep/job_runner.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

/// Jobs of a shell in place of trainings.
class JobRunner : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  void add(const std::string& script) {
    const std::size_t run = jobs_.size() + 1;
    jobs_.push_back({run, {"bash", "-c", script}, in("log-" + std::to_string(run))});
  }
  JobsEnd run(std::size_t parallel) {
    runtime::StopRequests stop({});
    return run_jobs(jobs_, parallel, stop,
                    {.started = [&](const SweepJob& job) { started_.push_back(job.run); },
                     .ended =
                         [&](const EndedJob& ended) {
                           codes_[ended.job.run - 1] = ended.code;
                           errors_[ended.job.run - 1] = ended.error;
                           return ended.code != 2;
                         }});
  }

  test::TemporaryFolder folder_;
  std::vector<SweepJob> jobs_;
  std::vector<std::size_t> started_;
  std::vector<int> codes_ = std::vector<int>(9, -1);
  std::vector<std::string> errors_ = std::vector<std::string>(9);
};

TEST_F(JobRunner, RunsAllAndKeepsWhatTheySay) {
  add("echo out; echo err >&2");
  add("exit 3");
  add("true");
  EXPECT_EQ(run(2), JobsEnd::all);
  EXPECT_EQ(started_, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(std::vector(codes_.begin(), codes_.begin() + 3), (std::vector{0, 3, 0}));
  const std::string log = test::read_file(in("log-1"));
  EXPECT_NE(log.find("out\n"), std::string::npos);
  EXPECT_NE(log.find("err\n"), std::string::npos);
}

// The first waits for what the second writes, and the third for what is there only after both.
TEST_F(JobRunner, RunsAsManyAtOnceAsAsked) {
  add("while ! [ -e " + in("second") + " ]; do sleep 0.01; done; touch " + in("first"));
  add("touch " + in("second") + "; while ! [ -e " + in("first") + " ]; do sleep 0.01; done");
  add("[ -e " + in("first") + " ]");
  EXPECT_EQ(run(2), JobsEnd::all);
  EXPECT_EQ(std::vector(codes_.begin(), codes_.begin() + 3), (std::vector{0, 0, 0}));
}

TEST_F(JobRunner, KeepsTheLogOfEarlierStarts) {
  test::write_file(in("log-1"), "before\n");
  add("echo now");
  EXPECT_EQ(run(1), JobsEnd::all);
  EXPECT_EQ(test::read_file(in("log-1")), "before\nnow\n");
}

TEST_F(JobRunner, PassesAStopOn) {
  add("trap 'exit 85' TERM; touch " + in("up") + "; while true; do sleep 0.01; done");
  add("touch " + in("never"));
  const pid_t process = ::getpid();
  runtime::block_supervisor_signals();
  std::jthread stopper([&] {
    while (!std::filesystem::exists(in("up"))) std::this_thread::yield();
    ::kill(process, SIGTERM);
  });
  EXPECT_EQ(run(1), JobsEnd::stopped);
  EXPECT_EQ(codes_[0], 85);
  EXPECT_EQ(started_, std::vector<std::size_t>{1});
  EXPECT_FALSE(std::filesystem::exists(in("never")));
}

TEST_F(JobRunner, StopsTheOthersIfOneSaysSo) {
  add("trap 'exit 85' TERM; touch " + in("up") + "; while true; do sleep 0.01; done");
  add("while ! [ -e " + in("up") + " ]; do sleep 0.01; done; exit 2");
  add("true");
  EXPECT_EQ(run(2), JobsEnd::stopped);
  EXPECT_EQ(codes_[0], 85);
  EXPECT_EQ(codes_[1], 2);
  EXPECT_EQ(codes_[2], -1) << "never started";
}

TEST_F(JobRunner, TellsTheLastComplaint) {
  add("echo 'step 3' >&2; echo 'penstock: it diverged' >&2; echo '  at once' >&2; exit 1");
  EXPECT_EQ(run(1), JobsEnd::all);
  EXPECT_EQ(errors_[0], "it diverged\n  at once");
}

TEST(LastComplaint, LeavesOutWhatOthersAdd) {
  EXPECT_EQ(last_complaint("penstock: first\npenstock: rank 1: it broke\n-----\nMPI_ABORT\n"),
            "rank 1: it broke");
  EXPECT_EQ(last_complaint("penstock: it broke\npenstock run: end: gave up\n"), "it broke");
  EXPECT_EQ(last_complaint("a\nkilled \n"), "killed");
  EXPECT_EQ(last_complaint(""), "");
  EXPECT_LE(last_complaint("penstock: " + std::string(5000, 'x')).size(), 603u);
}

TEST(DevicesOfPlace, AreSharedEqually) {
  EXPECT_EQ(devices_of_place("0,1,2,3", 0, 2), "0,1");
  EXPECT_EQ(devices_of_place("0,1,2,3", 1, 2), "2,3");
  EXPECT_EQ(devices_of_place("4,5,6", 1, 2), "5,6");
  EXPECT_EQ(devices_of_place("GPU-a,GPU-b", 1, 2), "GPU-b");
  EXPECT_EQ(devices_of_place("0", 1, 2), "") << "too few: all runs see what there is";
  EXPECT_EQ(devices_of_place("0,1", 0, 1), "") << "one run has all";
  EXPECT_EQ(devices_of_place("", 0, 2), "");
}

// The observer can't write, for one. The other job still ends by a save.
TEST_F(JobRunner, AnErrorOfTheObserverStopsTheOthers) {
  add("trap 'touch " + in("saved") + "; exit 85' TERM; touch " + in("up") +
      "; while true; do sleep 0.01; done");
  add("while ! [ -e " + in("up") + " ]; do sleep 0.01; done");
  add("touch " + in("never"));
  runtime::StopRequests stop({});
  std::vector<bool> asked;
  const auto fault = test::message_of<std::runtime_error>([&] {
    (void)run_jobs(jobs_, 2, stop,
                   {.started = [](const SweepJob&) {},
                    .ended = [&](const EndedJob& ended) -> bool {
                      asked.push_back(ended.asked);
                      throw std::runtime_error("full at " + std::to_string(ended.job.run));
                    }});
  });
  EXPECT_EQ(fault, "full at 2");
  EXPECT_EQ(asked, (std::vector{false, true}));
  EXPECT_TRUE(std::filesystem::exists(in("saved")));
  EXPECT_FALSE(std::filesystem::exists(in("never")));
}

TEST_F(JobRunner, AJobThatCantStartStopsTheOthers) {
  add("trap 'touch " + in("saved") + "; exit 85' TERM; touch " + in("up") +
      "; while true; do sleep 0.01; done");
  add("while ! [ -e " + in("up") + " ]; do sleep 0.01; done");
  add("true");
  jobs_[2].log = in("no-folder/log");
  EXPECT_THROW((void)run(2), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(in("saved")));
}

}  // namespace
}  // namespace penstock::tools
