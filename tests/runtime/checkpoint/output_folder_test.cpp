#include "runtime/checkpoint/output_folder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TemporaryFolder;

TEST(OutputFolder, ListsCheckpointsAlone) {
  const TemporaryFolder output;
  for (const char* name : {"checkpoint-000000020", "checkpoint-1000000000", "checkpoint-000000003",
                           "checkpoint-000000004.partial", "checkpoint-5", "checkpoint-00000000x"})
    fs::create_directory(output.path() / name);
  const auto stored = list_checkpoints(output.path());
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[0].step, 3);
  EXPECT_EQ(stored[1].step, 20);
  EXPECT_EQ(stored[2].step, 1'000'000'000);
  for (const auto& [step, folder] : stored) EXPECT_EQ(folder.filename(), checkpoint_name(step));
}

TEST(OutputFolder, ProbeLeavesNoTrace) {
  const TemporaryFolder parent;
  const fs::path output = parent.path() / "a" / "b";
  probe_output(output, 1);
  EXPECT_TRUE(fs::is_empty(parent.path()));
  make_output(output);
  probe_output(output, 1);
  EXPECT_TRUE(fs::is_empty(output));
}

TEST(OutputFolder, ProbeRejectsAFileInTheWay) {
  const TemporaryFolder parent;
  test::write_file(parent.path() / "file", "text");
  for (const fs::path& path : {parent.path() / "file", parent.path() / "file" / "below"}) {
    const std::string message = message_of<CheckpointError>([&] { probe_output(path, 0); });
    EXPECT_NE(message.find("not a folder"), std::string::npos) << message;
  }
  EXPECT_EQ(test::read_file(parent.path() / "file"), "text");
}

TEST(OutputFolder, ProbeRejectsAFolderThatNobodyCanWrite) {
  EXPECT_THROW(probe_output("/proc/penstock", 0), CheckpointError);  // not even root
}

TEST(OutputFolder, ProbeRejectsAFullDiskAndMakesNothing) {
  const TemporaryFolder parent;
  const auto path = parent.path() / "a";
  const std::string message =
      message_of<CheckpointError>([&] { probe_output(path, std::uint64_t{1} << 62); });
  EXPECT_NE(message.find("bytes free"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace penstock::runtime
