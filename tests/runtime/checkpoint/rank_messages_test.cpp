#include "runtime/checkpoint/rank_messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/file_handle.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

const std::string kWell = rank_message([] {});

std::string broken() {
  return rank_message([] { throw CheckpointError("manifest.json: damaged"); });
}

std::string missing(const std::filesystem::path& file) {
  return rank_message([&] {
    throw FileError(file, file.string() + ": can't be opened: No such file",
                    std::errc::no_such_file_or_directory);
  });
}

TEST(RankWords, AreEmptyWhereAllIsWell) {
  EXPECT_EQ(verdict({kWell, kWell, kWell}).fault, "");
  EXPECT_FALSE(verdict({kWell}).unreadable);
}

TEST(RankWords, NameTheFirstRankWithAFault) {
  const RankVerdict found = verdict({kWell, kWell, broken(), kWell, broken()});
  EXPECT_EQ(found.fault, "rank 2: manifest.json: damaged");
  EXPECT_FALSE(found.unreadable);
  EXPECT_EQ(verdict({broken()}).fault, "manifest.json: damaged");  // alone
}

TEST(RankWords, OfFilesNobodyHasAreFaults) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(verdict({kWell, missing(folder.path() / "stage-1")}).unreadable);
}

TEST(RankWords, OfFilesThatRank0HasAreNone) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "stage-1";
  test::write_file(file, "here");
  const RankVerdict found = verdict({kWell, missing(file)});
  EXPECT_TRUE(found.unreadable);
  EXPECT_TRUE(found.fault.starts_with("rank 1: " + file.string())) << found.fault;
  EXPECT_NE(found.fault.find("Rank 0 has this file"), std::string::npos) << found.fault;
}

TEST(RankWords, OfUnreadableFilesAreNone) {
  const test::TemporaryFolder folder;
  const std::string word =
      rank_message([&] { const FileHandle handle(folder.path(), O_WRONLY); });  // a folder
  EXPECT_TRUE(verdict({word, kWell}).unreadable);
}

}  // namespace
}  // namespace penstock::runtime
