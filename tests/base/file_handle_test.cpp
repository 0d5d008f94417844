#include "base/file_handle.h"

#include <gtest/gtest.h>

#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

TEST(ReadFile, GivesAllBytes) {
  const test::TemporaryFolder folder;
  const std::string bytes = std::string(70001, 'x') + '\0' + "end";
  test::write_file(folder.path() / "a", bytes);
  EXPECT_EQ(penstock::read_file(folder.path() / "a"), bytes);
}

TEST(ReadFile, NamesAFileThatCannotBeRead) {
  const auto message = [](const char* path) {
    return test::message_of<FileError>([&] { (void)penstock::read_file(path); });
  };
  EXPECT_EQ(message("/proc/self/mem"), "/proc/self/mem: can't be read: Input/output error");
  EXPECT_EQ(message("/proc"), "/proc: can't be read: Is a directory");
  EXPECT_EQ(message("/gone"), "/gone: can't be opened: No such file or directory");
}

}  // namespace
}  // namespace penstock
