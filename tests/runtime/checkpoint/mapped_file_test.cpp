#include "runtime/checkpoint/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(MappedFile, GivesTheBytesAndOutlivesAMove) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "x", "abc");
  MappedFile first(folder.path() / "x");
  const MappedFile second = std::move(first);
  ASSERT_EQ(second.bytes().size(), 3u);
  EXPECT_EQ(second.bytes()[2], std::byte{'c'});
}

TEST(MappedFile, IsReadAgainWhereItWasReleased) {
  const test::TemporaryFolder folder;
  std::string text(50000, 'x');
  text[20000] = 'y';
  test::write_file(folder.path() / "x", text);
  const MappedFile file(folder.path() / "x");
  const auto found = [&] { return std::ranges::count(file.bytes(), std::byte{'y'}); };
  EXPECT_EQ(found(), 1);
  file.release(17, 49999);
  EXPECT_EQ(found(), 1);
  file.release(5, 5);
  EXPECT_EQ(found(), 1);
}

TEST(MappedFile, TakesAnEmptyFile) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "x", "");
  EXPECT_TRUE(MappedFile(folder.path() / "x").bytes().empty());
}

TEST(MappedFile, RejectsWhatIsNoRegularFile) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(MappedFile(folder.path() / "missing"), CheckpointError);
  EXPECT_THROW(MappedFile(folder.path()), CheckpointError);
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(MappedFile{pipe}, CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
