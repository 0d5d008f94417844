#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file_handle.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

TEST(MappedFile, HoldsTheBytesOfItsTime) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "a";
  const std::string text(20001, 'x');
  test::write_file(file, text);
  MappedFile mapped = map_file(file);
  std::filesystem::remove(file);
  EXPECT_EQ(mapped.bytes(), text);
  mapped.forget(mapped.bytes());
  EXPECT_EQ(mapped.bytes(), text);  // read again
  MappedFile moved(std::move(mapped));
  EXPECT_EQ(moved.bytes(), text);
  mapped = std::move(moved);
  EXPECT_EQ(mapped.bytes(), text);
}

TEST(MappedFile, OfAnEmptyFileIsEmpty) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a", "");
  EXPECT_TRUE(map_file(folder.path() / "a").bytes().empty());
  EXPECT_TRUE(MappedFile().bytes().empty());
  EXPECT_THROW((void)map_file(folder.path() / "b"), FileError);
}

TEST(MappedFile, IsReadAgainWhereItWasForgotten) {
  const test::TemporaryFolder folder;
  std::string text(50000, 'x');
  text[20000] = 'y';
  test::write_file(folder.path() / "x", text);
  const MappedFile file = map_file(folder.path() / "x");
  const auto found = [&] { return std::ranges::count(file.raw(), std::byte{'y'}); };
  EXPECT_EQ(found(), 1);
  file.forget(file.bytes().substr(17, 49982));
  EXPECT_EQ(found(), 1);
  file.forget(file.bytes().substr(5, 0));
  EXPECT_EQ(found(), 1);
}

TEST(MappedFile, IsMissingWhereNoRegularFileIs) {
  const test::TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& path : {folder.path() / "missing", folder.path(), pipe}) {
    try {
      (void)map_file(path);
      ADD_FAILURE() << path;
    } catch (const FileError& error) {
      EXPECT_TRUE(error.missing()) << path;
    }
  }
}

TEST(ScratchFile, GivesWhatWasWrittenSoFar) {
  ScratchFile scratch;
  scratch.write("ab");
  scratch.write(std::string(300000, 'c'));
  const MappedFile first = scratch.map();
  EXPECT_EQ(first.bytes(), "ab" + std::string(300000, 'c'));
  scratch.write("d");
  EXPECT_EQ(scratch.size(), 300003u);
  EXPECT_EQ(scratch.map().bytes().back(), 'd');
}

TEST(ScratchFile, LeavesNothingBehind) {
  const test::TemporaryFolder folder;
  const char* const before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", folder.path().c_str(), 1);
  MappedFile mapped;
  {
    ScratchFile scratch;
    scratch.write("abc");
    mapped = scratch.map();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
  if (kept.empty())
    unsetenv("TMPDIR");
  else
    setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(mapped.bytes(), "abc");
}

}  // namespace
}  // namespace penstock
