#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
    file.write(" text");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new text");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, AppearsWithoutWaitingForTheDisk) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "x", ".half");
  file.write("text");
  EXPECT_TRUE(fs::exists(folder.path() / "x.half"));
  file.commit(Flush::none);
  EXPECT_EQ(read_file(folder.path() / "x"), "text");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, LeavesNothingWhenGivenUp) {
  const TemporaryFolder folder;
  { AtomicFile(folder.path() / "x").write("half"); }
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(AtomicFile, NamesTheFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  fs::create_symlink("/dev/full", folder.path() / "x.partial");
  const std::string message = message_of<CheckpointError>([&] { write_durably(path, "text"); });
  EXPECT_NE(message.find(path.string()), std::string::npos);
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(AtomicFile, NamesTheFileWhenItsFolderIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_durably(folder.path() / "no" / "x", "text"), CheckpointError);
}

}  // namespace
}  // namespace penstock
