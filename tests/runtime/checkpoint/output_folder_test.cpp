#include "runtime/checkpoint/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;
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
  EXPECT_THROW(probe_output("/proc/penstock"), FileError);  // not even root
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(MoveFolder, ReplacesTheEarlierHolder) {
  const TemporaryFolder folder;
  const auto from = folder.path() / "a", to = folder.path() / "b";
  for (const char* contents : {"first", "second"}) {
    fs::create_directory(from);
    test::write_file(from / "x", contents);
    move_folder(from, to);
    EXPECT_EQ(test::read_file(to / "x"), contents);
    EXPECT_EQ(entries(folder.path()), 1u);
  }
}

TEST(DiscardFolder, ClearsWhatAnEarlierCrashLeft) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a");
  fs::create_directories(folder.path() / "a.discarded" / "old");
  discard_folder(folder.path() / "a");
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_THROW(discard_folder(folder.path() / "a"), FileError);
}

/// An output folder with checkpoints of steps 8, 10 and 12, and a copy of 8 by another name.
class StepLabel : public testing::Test {
 protected:
  StepLabel() {
    for (const std::int64_t step : {8, 10, 12}) test::save_example(output_.path(), step, 2);
    copy(8, 14);
  }
  fs::path at(std::int64_t step) const { return output_.path() / checkpoint_name(step); }
  void copy(std::int64_t from, std::int64_t to) const {
    fs::copy(at(from), at(to), fs::copy_options::recursive);
  }
  fs::path aside(std::int64_t step, const std::string& suffix) const {
    return output_.path() / (checkpoint_name(step) + suffix);
  }
  std::function<void(const std::string&)> reporter() {
    return [this](const std::string& text) { reports_.push_back(text); };
  }
  static Steps steps_of(const std::vector<StoredCheckpoint>& stored) {
    Steps steps;
    for (const StoredCheckpoint& each : stored) steps.push_back(each.step);
    return steps;
  }

  const TemporaryFolder output_;
  std::vector<std::string> reports_;
};

TEST_F(StepLabel, ListsWhatIsNamedForItsStep) {
  EXPECT_EQ(steps_of(list_labelled(output_.path(), reporter())), (Steps{8, 10, 12}));
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find(at(14).string() + " is passed over: its manifest says step 8, not 14"),
            std::string::npos)
      << reports_[0];
}

TEST_F(StepLabel, LeavesWhatCannotBeReadToItsOpener) {
  fs::resize_file(at(12) / "manifest.json", 100);
  fs::remove(at(10) / "manifest.json");
  EXPECT_EQ(steps_of(list_labelled(output_.path())), (Steps{8, 10, 12}));
}

TEST_F(StepLabel, SetsAsideWhatIsNotTaken) {
  copy(10, 9);  // older than what the run goes on from
  fs::create_directory(aside(14, ".mislabelled"));
  fs::create_directory(aside(12, ".broken"));
  set_aside(output_.path(), 10, reporter());
  EXPECT_EQ(steps_of(list_checkpoints(output_.path())), (Steps{8, 10}));
  EXPECT_TRUE(fs::exists(aside(9, ".mislabelled") / "manifest.json"));
  EXPECT_TRUE(fs::exists(aside(12, ".broken") / "manifest.json"));
  EXPECT_TRUE(fs::is_empty(aside(14, ".mislabelled")));  // another one's
  EXPECT_TRUE(fs::exists(aside(14, ".mislabelled-2") / "manifest.json"));
  ASSERT_EQ(reports_.size(), 3u);
  EXPECT_NE(reports_[0].find("checkpoint-000000009 is renamed to checkpoint-000000009.mislabelled"),
            std::string::npos)
      << reports_[0];
}

TEST_F(StepLabel, ASaveOfThatStepLosesNothing) {
  test::write_file(at(16), "text");
  for (const std::int64_t step : {14, 16, 12}) test::save_example(output_.path(), step, 1);
  EXPECT_EQ(steps_of(list_labelled(output_.path())), (Steps{8, 10, 12, 14, 16}));
  EXPECT_TRUE(fs::exists(aside(14, ".mislabelled") / "manifest.json"));
  EXPECT_EQ(test::read_file(aside(16, ".mislabelled")), "text");
  EXPECT_FALSE(fs::exists(aside(12, ".mislabelled")));  // which was its own, and is replaced
}

}  // namespace
}  // namespace penstock::runtime
