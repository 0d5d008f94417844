#include "runtime/supervisor/host_probe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/devices/rank_info.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A folder with a script that stands for penstock, and one for ssh that runs words by a shell.
class HostProbeOf : public ::testing::Test {
 protected:
  std::string script(const std::string& name, const std::string& text) const {
    std::string file = folder_.path() / name;
    test::write_file(file, "#!/bin/sh\n" + text);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  std::string fault(const std::string& penstock, const std::string& host = "lion") const {
    const std::string agent = script("agent", "shift; exec sh -c \"$*\"\n");
    return probe_host({agent, script("penstock", penstock), "0.2.0", "/data/my run's"}, host).fault;
  }
  test::TemporaryFolder folder_;
};

TEST_F(HostProbeOf, FindsNoFaultOfTheSameVersion) {
  EXPECT_EQ(fault("echo '{\"version\": \"0.2.0\", \"machine\": \"x\"}'\n"), "");
}

TEST_F(HostProbeOf, PassesTheTokenAsOneWord) {
  EXPECT_EQ(fault("test \"$3\" = \"/data/my run's\" && echo '{\"version\": \"0.2.0\", \"machine\": "
                  "\"x\"}'\n"),
            "");
}

TEST_F(HostProbeOf, NamesAnotherVersion) {
  EXPECT_EQ(fault("echo '{\"version\": \"0.1.9\", \"machine\": \"x\"}'\n"),
            "has penstock \"0.1.9\", but this machine has 0.2.0: install the same on both");
}

TEST_F(HostProbeOf, SaysWhatFailed) {
  EXPECT_NE(fault("echo no such thing >&2; exit 5\n").find("exit code 5: no such thing"),
            std::string::npos);
  EXPECT_NE(fault("echo hello\n").find("prints \"hello\" there, not its version"),
            std::string::npos);
  EXPECT_NE(probe_host({"/no/agent", "penstock", "1", "t"}, "lion").fault.find("can't be started"),
            std::string::npos);
}

TEST_F(HostProbeOf, CallsThisMachineWithoutTheAgent) {
  EXPECT_TRUE(is_this_machine("localhost"));
  EXPECT_TRUE(is_this_machine(machine_name()));
  EXPECT_FALSE(is_this_machine("lion"));
  const std::string penstock =
      script("penstock", "echo '{\"version\": \"0.2.0\", \"machine\": \"x\"}'\n");
  const HostAnswer answer = probe_host({"/no/agent", penstock, "0.2.0", "t"}, "localhost");
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(answer.machine, "x");
}

TEST_F(HostProbeOf, AnswerIsUnderstood) {
  EXPECT_EQ(fault("echo '" + probe_answer("0.2.0", 3) + "'\n"), "");
}

}  // namespace
}  // namespace penstock::runtime
