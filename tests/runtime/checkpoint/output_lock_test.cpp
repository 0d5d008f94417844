#include "runtime/checkpoint/output_lock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TemporaryFolder;

TEST(OutputLock, LetsOneRunInAtATime) {
  const TemporaryFolder output;
  {
    const OutputLock first(output.path());
    const std::string message =
        message_of<CheckpointError>([&] { const OutputLock second(output.path()); });
    EXPECT_NE(message.find(fmt::format("process {} on host ", ::getpid())), std::string::npos)
        << message;
    EXPECT_EQ(test::read_file(OutputLock::file_of(output.path())), first.token());
  }
  EXPECT_NO_THROW(const OutputLock third(output.path()));
}

TEST(OutputLock, EndsWithItsProcess) {
  const TemporaryFolder output;
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputLock lock(output.path());
    ::_exit(0);  // as if killed
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(fs::exists(OutputLock::file_of(output.path())));
  EXPECT_NO_THROW(const OutputLock lock(output.path()));
}

TEST(OutputLock, ChangesNoFileThatItsNameLeadsTo) {
  const TemporaryFolder output, other;
  const fs::path file = other.path() / "file", lock = OutputLock::file_of(output.path());
  test::write_file(file, "text");
  const auto refuses = [&](const std::string& why) {
    const std::string message =
        message_of<CheckpointError>([&] { const OutputLock held(output.path()); });
    EXPECT_NE(message.find(lock.string() + ": " + why), std::string::npos) << message;
    EXPECT_EQ(test::read_file(file), "text");
    EXPECT_TRUE(fs::remove(lock));
  };
  fs::create_symlink(file, lock);
  refuses("is a symbolic link");
  fs::create_symlink(other.path() / "absent", lock);
  refuses("is a symbolic link");
  EXPECT_FALSE(fs::exists(other.path() / "absent"));
  fs::create_hard_link(file, lock);
  refuses("is no plain file");
  EXPECT_NO_THROW(const OutputLock held(output.path()));
}

/// One makes the folder while the other removes it.
TEST(OutputLock, LetsRunsComeAndGo) {
  const TemporaryFolder parent;
  const fs::path output = parent.path() / "a" / "b";
  const auto come_and_go = [&] {
    for (int i = 0; i < 100; ++i) {
      std::string message = message_of<std::exception>([&] { const OutputLock lock(output); });
      if (!message.empty() && message.find("another run writes there") == std::string::npos)
        return message;
    }
    return std::string();
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(come_and_go().empty() ? 0 : 1);
  EXPECT_EQ(come_and_go(), "");
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(OutputLock, LeavesNoTraceWhereNothingWasPut) {
  const TemporaryFolder parent;
  { const OutputLock lock(parent.path() / "a" / "b"); }
  EXPECT_TRUE(fs::is_empty(parent.path()));
  {
    const OutputLock lock(parent.path() / "a" / "b");
    test::write_file(parent.path() / "a" / "b" / "metrics.jsonl", "");
  }
  EXPECT_TRUE(fs::exists(parent.path() / "a" / "b" / "metrics.jsonl"));
  EXPECT_FALSE(fs::exists(OutputLock::file_of(parent.path() / "a" / "b")));
}

}  // namespace
}  // namespace penstock::runtime
