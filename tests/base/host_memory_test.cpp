#include "base/host_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

class HostMemory : public testing::Test {
 protected:
  void limit(const std::string& file, const std::string& bytes) const {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    test::write_file(path, bytes + "\n");
  }
  double allowed(const std::string& groups) const {
    test::write_file(folder_.path() / "groups", groups);
    return cgroup_memory(folder_.path() / "groups", folder_.path());
  }

  const test::TemporaryFolder folder_;
};

TEST_F(HostMemory, IsWhatGroupsAroundItAllow) {
  limit("system.slice/job_7/memory.max", "max");
  limit("system.slice/memory.max", "7000000000");
  limit("memory.max", "9000000000");
  EXPECT_EQ(allowed("0::/system.slice/job_7\n"), 7e9);
  limit("system.slice/job_7/memory.max", "123456");
  EXPECT_EQ(allowed("0::/system.slice/job_7\n"), 123456);
  EXPECT_EQ(allowed("0::/\n"), 9e9);  // as a container sees its own
}

TEST_F(HostMemory, KnowsTheOlderControlGroups) {
  limit("memory/slurm/uid_0/job_7/memory.limit_in_bytes", "5000");
  limit("memory/memory.limit_in_bytes", "9223372036854771712");
  limit("cpu/slurm/memory.limit_in_bytes", "3");
  EXPECT_EQ(allowed("9:name=systemd:/\n5:cpuset,memory:/slurm/uid_0/job_7\n1:cpu:/slurm\n"), 5000);
}

TEST_F(HostMemory, HasNoLimitWhereNobodySetsOne) {
  EXPECT_EQ(allowed("0::/here\n2:memory:/there\n"), HUGE_VAL);
  EXPECT_EQ(allowed(""), HUGE_VAL);
  EXPECT_GT(host_memory(), 1e8);
  EXPECT_LT(host_memory(), 1e15);
}

}  // namespace
}  // namespace penstock
