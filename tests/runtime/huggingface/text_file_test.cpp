#include "runtime/huggingface/text_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(TextFile, IsReadWhole) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a", "some\ntext");
  EXPECT_EQ(text_of_file(folder.path() / "a"), "some\ntext");
  EXPECT_THROW((void)text_of_file(folder.path() / "b"), CheckpointError);
}

TEST(TextFile, IsThereOrNot) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a", "");
  EXPECT_TRUE(is_there(folder.path() / "a"));
  EXPECT_FALSE(is_there(folder.path() / "b"));
  const auto no_name = folder.path() / std::string(4000, 'c');  // longer than file systems allow
  EXPECT_NE(
      test::message_of<CheckpointError>([&] { (void)is_there(no_name); }).find("can't be examined"),
      std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
