#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file_handle.h"
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
  const std::string message = message_of<FileError>([&] { write_durably(path, "text"); });
  EXPECT_NE(message.find(path.string()), std::string::npos);
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(AtomicFile, NamesTheFileWhenItsFolderIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_durably(folder.path() / "no" / "x", "text"), FileError);
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(AtomicWrite, ReplacesAFileThroughItsLink) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "file", link = folder.path() / "link";
  test::write_file(file, "old and long");
  std::filesystem::create_symlink(file, link);
  EXPECT_TRUE(atomic_write(link, "new"));
  EXPECT_EQ(text_of(file), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(AtomicWrite, SaysWhatItCantWrite) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(atomic_write(folder.path() / "gone" / "file", "text"));
  EXPECT_TRUE(atomic_write("/dev/null", "text"));
}

TEST(AtomicWrite, SaysBeforehandWhatItCantWrite) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "file", gone = folder.path() / "gone";
  test::write_file(file, "kept");
  EXPECT_EQ(why_unwritable(gone / "new"),
            "there is no folder " + gone.string() + ": make it, or name another file");
  EXPECT_EQ(why_unwritable(folder.path()), "it is a folder: name a file in it");
  EXPECT_EQ(why_unwritable(gone / ""), "it is a folder: name a file in it");
  EXPECT_NE(why_unwritable(file / "new"), "");
  EXPECT_NE(why_unwritable(folder.path() / std::string(255, 'x')), "");
  EXPECT_NE(why_unwritable("/proc/new").find("no file can be made in /proc ("), std::string::npos);

  const auto ring = folder.path() / "ring";
  std::filesystem::create_symlink(ring, ring);
  EXPECT_NE(why_unwritable(ring).find(": name another file"), std::string::npos);
  std::filesystem::remove(ring);

  const auto link = folder.path() / "link";
  std::filesystem::create_symlink(file, link);
  for (const auto& good : {file, link, folder.path() / "new", std::filesystem::path("/dev/null")})
    EXPECT_EQ(why_unwritable(good), "") << good;
  EXPECT_EQ(text_of(file), "kept");
  const std::filesystem::directory_iterator left(folder.path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 2);  // the file and the link
}

}  // namespace
}  // namespace penstock
