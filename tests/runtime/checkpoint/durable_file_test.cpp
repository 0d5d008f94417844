#include "runtime/checkpoint/durable_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "layers/tensor/error.h"
#include "tests/support/temporary_folder.h"

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

TEST(DurableFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  write_file(path, "old");
  {
    DurableFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
    file.write(" text");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new text");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(DurableFile, LeavesNothingWhenGivenUp) {
  const TemporaryFolder folder;
  { DurableFile(folder.path() / "x").write("half"); }
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(DurableFile, NamesTheFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  fs::create_symlink("/dev/full", folder.path() / "x.partial");
  const std::string message = message_of<CheckpointError>([&] { write_durably(path, "text"); });
  EXPECT_NE(message.find(path.string()), std::string::npos);
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(DurableFile, NamesTheFileWhenItsFolderIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_durably(folder.path() / "no" / "x", "text"), CheckpointError);
}

TEST(MoveFolder, ReplacesTheEarlierHolder) {
  const TemporaryFolder folder;
  const auto from = folder.path() / "a", to = folder.path() / "b";
  for (const char* contents : {"first", "second"}) {
    fs::create_directory(from);
    write_file(from / "x", contents);
    move_folder(from, to);
    EXPECT_EQ(read_file(to / "x"), contents);
    EXPECT_EQ(entries(folder.path()), 1u);
  }
}

TEST(DiscardFolder, ClearsWhatAnEarlierCrashLeft) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a");
  fs::create_directories(folder.path() / "a.discarded" / "old");
  discard_folder(folder.path() / "a");
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_THROW(discard_folder(folder.path() / "a"), CheckpointError);
}

}  // namespace
}  // namespace penstock
