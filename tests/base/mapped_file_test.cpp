#include "base/mapped_file.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock
