#include "partition/write_whole.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(WriteWhole, ReplacesAFileThroughItsLink) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "file", link = folder.path() / "link";
  test::write_file(file, "old and long");
  std::filesystem::create_symlink(file, link);
  EXPECT_TRUE(write_whole(link, "new"));
  EXPECT_EQ(text_of(file), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "file.partial"));
}

TEST(WriteWhole, SaysWhatItCantWrite) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(write_whole(folder.path() / "gone" / "file", "text"));
  EXPECT_TRUE(write_whole("/dev/null", "text"));
}

}  // namespace
}  // namespace penstock
