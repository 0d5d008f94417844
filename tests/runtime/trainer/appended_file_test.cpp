#include "runtime/trainer/appended_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/system/file_size_limit.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(AppendedFile, GoesOnWhereAFullDiskCutIt) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  std::vector<std::string> notes;
  AppendedFile file(path, O_CREAT, "words",
                    [&](const std::string& note) { notes.push_back(note); });
  file.append("one ");
  {
    const test::FileSizeLimit full(6);
    for (const char* word : {"two ", "three "}) file.append(word);
    EXPECT_EQ(test::read_file(path), "one tw");
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].ends_with(". Its words are kept until it can")) << notes[0];
  file.append("four");
  EXPECT_EQ(test::read_file(path), "one two three four");
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1], path.string() + " has all words again");
}

TEST(AppendedFile, KeepsWhatItFinds) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "file", "old ");
  AppendedFile(folder.path() / "file", 0, "words", {}).append("new");
  EXPECT_EQ(test::read_file(folder.path() / "file"), "old new");
}

TEST(AppendedFile, RefusesAFileThatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(AppendedFile(folder.path() / "file", 0, "words", {}), FileError);
}

}  // namespace
}  // namespace penstock::runtime
