#include "tools/sweep/slurm_script.h"

#include <gtest/gtest.h>

#include "runtime/supervisor/child_process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

/// The script of a sweep whose program is a shell script of the test, and a scontrol beside it.
class SlurmScript : public testing::Test {
 protected:
  /// Makes `program` the sweep, and returns how the script of task 4 ends.
  int run(const std::string& program, const std::string& run_by = "") {
    write_program("sweep program", program);
    write_program("scontrol", "echo \"$@\" > " + in("requeued"));
    test::write_file(in("job.sh"), slurm_script({in("sweep program"), "a b", "x=$HOME"}, 12, 3));
    const auto output =
        runtime::run_command({{"bash", "-c", run_by.empty() ? "exec bash " + in("job.sh") : run_by},
                              {{"PATH", folder_.path().string() + ":/usr/bin:/bin"},
                               {"SLURM_ARRAY_TASK_ID", "4"},
                               {"SLURM_JOB_ID", "77"}}},
                             std::chrono::seconds(20));
    return output.code;
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  bool requeued() const { return std::filesystem::exists(in("requeued")); }

 private:
  void write_program(const std::string& name, const std::string& text) {
    test::write_file(in(name), "#!/usr/bin/env bash\n" + text + "\n");
    std::filesystem::permissions(in(name), std::filesystem::perms::owner_all);
  }

  test::TemporaryFolder folder_;
};

TEST_F(SlurmScript, TrainsTheRunOfItsTask) {
  EXPECT_EQ(run("printf '<%s>' \"$@\" > " + in("words")), 0);
  EXPECT_EQ(test::read_file(in("words")), "<a b><x=$HOME><--only><4>");
  EXPECT_FALSE(requeued());
}

TEST_F(SlurmScript, HasATaskForEachRun) {
  EXPECT_NE(slurm_script({"penstock"}, 12, 3).find(" --array=1-12%3 "), std::string::npos);
}

TEST_F(SlurmScript, IsABashScript) {
  (void)run("true");
  EXPECT_EQ(runtime::run_command({{"bash", "-n", in("job.sh")}}, std::chrono::seconds(5)).code, 0);
}

TEST_F(SlurmScript, RequeuesWhatIsNotDone) {
  EXPECT_EQ(run("exit 85"), 85);
  EXPECT_EQ(test::read_file(in("requeued")), "requeue 77\n");
}

TEST_F(SlurmScript, KeepsTheCodeOfAFailure) {
  EXPECT_EQ(run("exit 3"), 3);
  EXPECT_FALSE(requeued());
}

// Slurm sends USR1 to the script five minutes before its end, and TERM on scancel.
TEST_F(SlurmScript, PassesSignalsOn) {
  const std::string program =
      "trap 'exit 85' USR1 TERM; touch " + in("up") + "; while true; do sleep 0.01; done";
  const auto run_by = [&](const std::string& signal) {
    return "bash " + in("job.sh") + " & while ! [ -e " + in("up") +
           " ]; do sleep 0.01; done; kill -" + signal + " $!; wait $!";
  };
  EXPECT_EQ(run(program, run_by("USR1")), 85);
  EXPECT_TRUE(requeued());
  std::filesystem::remove(in("up"));
  std::filesystem::remove(in("requeued"));
  EXPECT_EQ(run(program, run_by("TERM")), 85);
  EXPECT_FALSE(requeued()) << "a cancelled job stays cancelled";
}

}  // namespace
}  // namespace penstock::tools
