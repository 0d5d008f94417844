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

TEST(OutputFolder, ReportsAFileWithACheckpointsName) {
  const TemporaryFolder output;
  fs::create_directory(output.path() / "checkpoint-000000020");
  const fs::path file = output.path() / "checkpoint-000000099";
  test::write_file(file, "text");
  std::vector<std::string> reports;
  const auto stored = list_checkpoints(
      output.path(), [&](const std::string& report) { reports.push_back(report); });
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].step, 20);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].starts_with(file.string() + " is ignored")) << reports[0];
}

TEST(OutputFolder, ProbeLeavesNoTrace) {
  const TemporaryFolder parent;
  const fs::path output = parent.path() / "a" / "b";
  probe_output(output);
  EXPECT_TRUE(fs::is_empty(parent.path()));
  make_output(output);
  probe_output(output);
  EXPECT_TRUE(fs::is_empty(output));
}

TEST(OutputFolder, ProbeRejectsAFileInTheWay) {
  const TemporaryFolder parent;
  test::write_file(parent.path() / "file", "text");
  for (const fs::path& path : {parent.path() / "file", parent.path() / "file" / "below"}) {
    const std::string message = message_of<CheckpointError>([&] { probe_output(path); });
    EXPECT_NE(message.find("not a folder"), std::string::npos) << message;
  }
  EXPECT_EQ(test::read_file(parent.path() / "file"), "text");
}

TEST(OutputFolder, ProbeRejectsAFolderThatNobodyCanWrite) {
  EXPECT_THROW(probe_output("/proc/penstock"), CheckpointError);  // not even root
}

}  // namespace
}  // namespace penstock::runtime
