#include "tools/reports/training/reported_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class ReportedRunTest : public testing::Test {
 protected:
  /// Makes an output folder with this metrics.jsonl.
  std::filesystem::path output(const std::string& metrics) const {
    std::filesystem::path made = folder_.path() / "run";
    std::filesystem::create_directories(made);
    test::write_file(made / "metrics.jsonl", metrics);
    return made;
  }
  static std::string refusal(const std::filesystem::path& path) {
    try {
      (void)read_run(path);
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "none";
  }
  static bool noted(const ReportedRun& run, const std::string& words) {
    return std::ranges::any_of(
        run.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
  }

  test::TemporaryFolder folder_;
};

TEST_F(ReportedRunTest, NamesAFolderThatIsMissing) {
  const std::string missing = folder_.path() / "elsewhere";
  EXPECT_EQ(refusal(missing),
            missing + ": there is no such folder; name the trainer.output of a training");
}

TEST_F(ReportedRunTest, NamesWhatIsNoFolder) {
  const std::string file = output("") / "metrics.jsonl";
  EXPECT_EQ(refusal(file), file + " is no folder; name the trainer.output of a training");
}

TEST_F(ReportedRunTest, NamesAFolderWithoutARun) {
  EXPECT_EQ(refusal(folder_.path()),
            folder_.path().string() +
                " holds no run: it has no metrics.jsonl, which every training writes; name a "
                "trainer.output");
}

TEST_F(ReportedRunTest, NamesTheRunOfACheckpoint) {
  const std::filesystem::path checkpoint = output("") / "checkpoint-000000003";
  std::filesystem::create_directories(checkpoint);
  for (const std::string& named : {checkpoint.string(), checkpoint.string() + "/"})
    EXPECT_NE(refusal(named).find("\n  penstock report " + (folder_.path() / "run").string()),
              std::string::npos)
        << refusal(named);
}

TEST_F(ReportedRunTest, ARunMayHaveNoStepsYet) {
  const ReportedRun run = read_run(output(""));
  EXPECT_TRUE(run.history.empty());
  EXPECT_FALSE(run.state);
  EXPECT_TRUE(noted(run, "recorded no step yet"));
  EXPECT_TRUE(noted(run, "no checkpoint yet"));
}

TEST_F(ReportedRunTest, NotesWhatWasLeftOut) {
  const std::string step = R"({"step":1,"loss":2})";
  EXPECT_FALSE(noted(read_run(output(step + "\n")), "metrics.jsonl"));
  EXPECT_TRUE(noted(read_run(output(step + "\n{\"st")), "The last line of metrics.jsonl is cut"));
  EXPECT_TRUE(noted(read_run(output("?\n" + step + "\n")), "1 line of metrics.jsonl is left out"));
  EXPECT_TRUE(
      noted(read_run(output(step + "\n" + step + "\n")), "1 line of metrics.jsonl is repl"));
}

TEST_F(ReportedRunTest, ADamagedCheckpointIsNoted) {
  const std::filesystem::path checkpoint = output("") / "checkpoint-000000003";
  std::filesystem::create_directories(checkpoint);
  test::write_file(checkpoint / "manifest.json", "{");
  const ReportedRun run = read_run(folder_.path() / "run");
  EXPECT_FALSE(run.state);
  EXPECT_FALSE(run.notes.empty());
}

}  // namespace
}  // namespace penstock::tools
