#include "runtime/checkpoint/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "layers/tensor/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

TEST(MappedFile, GivesTheBytesAndOutlivesAMove) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "x", "abc");
  MappedFile first(folder.path() / "x");
  const MappedFile second = std::move(first);
  ASSERT_EQ(second.bytes().size(), 3u);
  EXPECT_EQ(second.bytes()[2], std::byte{'c'});
}

TEST(MappedFile, TakesAnEmptyFile) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "x", "");
  EXPECT_TRUE(MappedFile(folder.path() / "x").bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoRegularFile) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(MappedFile(folder.path() / "missing"), CheckpointError);
  EXPECT_THROW(MappedFile(folder.path()), CheckpointError);
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(MappedFile{pipe}, CheckpointError);
}

}  // namespace
}  // namespace penstock
