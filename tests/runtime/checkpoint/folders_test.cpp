#include "runtime/checkpoint/folders.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(MoveFolder, ReplacesTheEarlierHolder) {
  const TemporaryFolder folder;
  const auto from = folder.path() / "a", to = folder.path() / "b";
  for (const char* contents : {"first", "second"}) {
    fs::create_directory(from);
    write_file(from / "x", contents);
    move_folder(from, to);
    EXPECT_EQ(read_file(to / "x"), contents);
    EXPECT_EQ(entries(folder.path()), 1u);
  }
}

TEST(DiscardFolder, ClearsWhatAnEarlierCrashLeft) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a");
  fs::create_directories(folder.path() / "a.discarded" / "old");
  discard_folder(folder.path() / "a");
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_THROW(discard_folder(folder.path() / "a"), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
