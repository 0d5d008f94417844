#include "base/scratch_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

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
