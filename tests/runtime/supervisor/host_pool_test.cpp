#include "runtime/supervisor/host_pool.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Hosts = std::vector<PoolHost>;

std::string fault_of(const std::string& text) try {
  (void)parse_hosts(text, "hosts.txt");
  return "";
} catch (const ConfigError& error) {
  return error.what();
}

TEST(HostPool, ReadsHostFilesOfOpenMpi) {
  EXPECT_EQ(parse_hosts("# ours\n\nnode-1 slots=4 max_slots=8\n  node-2:2 # old\n10.77.0.3\n", ""),
            (Hosts{{"node-1", 4}, {"node-2", 2}, {"10.77.0.3", 1}}));
}

TEST(HostPool, RefusesOtherLinesByNumber) {
  EXPECT_EQ(fault_of("node-1\nnode-2 slots=none\n"),
            "hosts.txt, line 2: \"node-2 slots=none\" is no host: expected a line such as "
            "\"node-1 slots=4\"");
  for (const char* line : {"node slots=0", "node 4", "-oProxyCommand=x", "a;b", "$(x)",
                           "node:", "node slots=99999999999"})
    EXPECT_NE(fault_of(line), "") << line;
  EXPECT_NE(fault_of("a\nb\na\n").find("line 3: a stands twice"), std::string::npos);
}

TEST(HostPool, ReadsTasksPerNodeOfSlurm) {
  EXPECT_EQ(parse_tasks_per_node("4(x2),3"), (std::vector<int>{4, 4, 3}));
  EXPECT_EQ(parse_tasks_per_node("8"), (std::vector<int>{8}));
  for (const char* text : {"x", "4(2)", "4(x)", "4(x2", "4,,3"})
    EXPECT_THROW((void)parse_tasks_per_node(text), ConfigError) << text;
}

TEST(HostPool, AsksACommand) {
  EXPECT_EQ(find_hosts({.discover = "echo node-1:3"}), (Hosts{{"node-1", 3}}));
}

TEST(HostPool, SaysWhyACommandFailed) {
  try {
    (void)find_hosts({.discover = "echo no route >&2; exit 7"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "echo no route >&2; exit 7 failed with exit code 7: no route");
  }
  EXPECT_THROW((void)find_hosts({.discover = "echo '<html>'"}), ConfigError);
}

TEST(HostPool, ReadsAFileAgain) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "hosts";
  test::write_file(file, "a\n");
  EXPECT_EQ(find_hosts({.file = file}), (Hosts{{"a", 1}}));
  test::write_file(file, "a\nb:2\n");
  EXPECT_EQ(count_slots(find_hosts({.file = file})), 3);
  EXPECT_THROW((void)find_hosts({.file = file + "-gone"}), FileError);
}

TEST(HostPool, ExcludesAHostThatFailsThreeTimes) {
  HostRecord record({.max_failures = 3, .excluded_s = 60});
  const HostRecord::Time now{};
  EXPECT_FALSE(record.count_failure("a", now));
  EXPECT_FALSE(record.count_failure("a", now));
  EXPECT_FALSE(record.count_failure("b", now));
  EXPECT_TRUE(record.count_failure("a", now));
  const Hosts all{{"a", 2}, {"b", 2}};
  EXPECT_EQ(record.usable(all, now), (Hosts{{"b", 2}}));
  EXPECT_EQ(record.usable(all, now + std::chrono::seconds(59)), (Hosts{{"b", 2}}));
  EXPECT_EQ(record.usable(all, now + std::chrono::seconds(60)), all);
  EXPECT_FALSE(record.count_failure("a", now + std::chrono::seconds(61)));
}

TEST(HostPool, TakesTheFirstSlots) {
  const Hosts all{{"a", 2}, {"b", 3}};
  EXPECT_EQ(first_slots(all, 3), (Hosts{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(first_slots(all, 2), (Hosts{{"a", 2}}));
  EXPECT_EQ(first_slots(all, 9), all);
}

}  // namespace
}  // namespace penstock::runtime
