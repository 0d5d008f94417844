#include "runtime/checkpoint/new_folder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(NewFolder, AppearsWhenItIsWhole) {
  const test::TemporaryFolder output;
  const auto path = output.path() / "a" / "b";
  NewFolder folder(path / "");
  test::write_file(folder.partial() / "file", "text");
  EXPECT_FALSE(std::filesystem::exists(path));
  folder.commit();
  EXPECT_EQ(test::read_file(path / "file"), "text");
  EXPECT_FALSE(std::filesystem::exists(path / ".unfinished"));
  EXPECT_FALSE(std::filesystem::exists(folder.partial()) && !folder.partial().empty());
}

TEST(NewFolder, LeavesNothingHalfWritten) {
  const test::TemporaryFolder output;
  {
    const NewFolder folder(output.path() / "a");
    test::write_file(folder.partial() / "file", "text");
  }
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
}

TEST(NewFolder, ReplacesNothing) {
  const test::TemporaryFolder output;
  EXPECT_NE(
      test::message_of<CheckpointError>([&] { NewFolder{output.path()}; }).find("is there already"),
      std::string::npos);
}

TEST(NewFolder, LeavesWhatCameMeanwhile) {
  const test::TemporaryFolder output;
  const auto path = output.path() / "a";
  NewFolder folder(path);
  std::filesystem::create_directory(path);
  test::write_file(path / "file", "of others");
  EXPECT_NE(test::message_of<CheckpointError>([&] { folder.commit(); }).find("is there already"),
            std::string::npos);
  EXPECT_EQ(test::read_file(path / "file"), "of others");
}

TEST(NewFolder, LeavesFoldersOfOthersAlone) {
  const test::TemporaryFolder output;
  const auto partial = output.path() / "a.partial";
  const auto fault = [&] {
    return test::message_of<CheckpointError>([&] { NewFolder{output.path() / "a"}; });
  };
  std::filesystem::create_directory(partial);
  test::write_file(partial / "file", "of others");
  EXPECT_NE(fault().find("penstock did not make it"), std::string::npos) << fault();
  EXPECT_EQ(test::read_file(partial / "file"), "of others");
  std::filesystem::remove_all(partial);
  const NewFolder first(output.path() / "a");
  EXPECT_NE(fault().find("another process"), std::string::npos) << fault();
  EXPECT_TRUE(std::filesystem::exists(partial));
}

// A process that was killed has left this folder.
TEST(NewFolder, ClearsAwayDeadAttempts) {
  const test::TemporaryFolder output;
  std::filesystem::create_directory(output.path() / "a.partial");
  test::write_file(output.path() / "a.partial" / "old", "text");
  test::write_file(output.path() / "a.partial" / ".unfinished", "");
  NewFolder folder(output.path() / "a");
  folder.commit();
  EXPECT_TRUE(std::filesystem::is_empty(output.path() / "a"));
}

}  // namespace
}  // namespace penstock::runtime
