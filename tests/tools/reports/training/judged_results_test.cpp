#include "tools/reports/training/judged_results.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"
#include "tools/reports/recognition_report.h"

namespace penstock::tools {
namespace {

class JudgedResultsTest : public testing::Test {
 protected:
  /// Returns a line as `penstock evaluate --results` writes it.
  std::string line(const std::string& audio, std::int64_t edits, std::int64_t words) {
    runtime::JudgedUtterance utterance;
    utterance.source.audio = audio;
    utterance.source.length = {.samples = 12000, .rate = 8000};
    utterance.recognised.reference = "reference of " + audio;
    utterance.recognised.text = "text of " + audio;
    utterance.recognised.errors.words = {edits, words};
    utterance.recognised.errors.characters = {2 * edits, 5 * words};
    utterance.values = {"ann"};
    utterance.manifest = audio == "a.wav" ? 0 : 1;
    return judged_line(utterance, test_);
  }
  JudgedResults read(const std::string& text, std::size_t worst = 10) const {
    test::write_file(file(), text);
    return read_judged_results(file(), worst);
  }
  std::string file() const { return folder_.path() / "results.jsonl"; }

  test::TemporaryFolder folder_;
  runtime::TestSet test_{.manifests = {"clean.jsonl", "noisy.jsonl"}, .by = {"speaker"}};
};

TEST_F(JudgedResultsTest, SumsUpWhatAnEvaluationWrote) {
  const JudgedResults results =
      read(line("a.wav", 1, 4) + line("b.wav", 2, 4) + line("c.wav", 0, 2));
  EXPECT_EQ(results.all, (EditTally{3, 3, 10, 6, 50}));
  EXPECT_EQ(results.manifests.at("clean.jsonl"), (EditTally{1, 1, 4, 2, 20}));
  EXPECT_EQ(results.manifests.at("noisy.jsonl"), (EditTally{2, 2, 6, 4, 30}));
  EXPECT_EQ(results.fields.at("speaker").at("ann"), results.all);
  EXPECT_EQ(results.failed, 0);
}

TEST_F(JudgedResultsTest, WorstHaveMostEditsForTheirWords) {
  const std::string text = line("half", 1, 2) + line("none", 0, 9) + line("all", 3, 3) +
                           line("half, longer", 2, 4) + line("half again", 1, 2) +
                           line("inserted", 4, 0);
  std::vector<std::string> names;
  for (const JudgedText& each : read(text).worst) names.push_back(each.audio);
  EXPECT_EQ(names,
            (std::vector<std::string>{"inserted", "all", "half, longer", "half", "half again"}));
  const JudgedResults two = read(text, 2);
  ASSERT_EQ(two.worst.size(), 2u);
  EXPECT_EQ(two.worst[1].audio, "all");
  EXPECT_EQ(two.worst[1].reference, "reference of all");
  EXPECT_EQ(two.worst[1].hypothesis, "text of all");
  EXPECT_EQ(two.worst[1].duration, 1.5);
  EXPECT_FALSE(two.worst[1].offset);
  EXPECT_TRUE(read(text, 0).worst.empty());
}

TEST_F(JudgedResultsTest, CountsFailedUtterances) {
  const JudgedResults results =
      read(line("a.wav", 1, 4) + R"({"audio_filepath":"b.wav","error":"no such file"})" + "\n");
  EXPECT_EQ(results.all.utterances, 1);
  EXPECT_EQ(results.failed, 1);
}

TEST_F(JudgedResultsTest, LeavesOutATornLastLine) {
  const std::string whole = line("a.wav", 1, 4);
  EXPECT_EQ(read(whole + whole.substr(0, 30)).all.utterances, 1);
}

TEST_F(JudgedResultsTest, SkipsEmptyLines) {
  EXPECT_EQ(read("\n" + line("a.wav", 1, 4) + "\n \n" + line("b.wav", 0, 4)).all.utterances, 2);
}

TEST_F(JudgedResultsTest, NamesALineOfAnotherFile) {
  for (const char* wrong : {"{}", "nonsense", R"({"audio_filepath":"a.wav","text":"yes"})",
                            R"({"audio_filepath":3})"}) {
    try {
      (void)read(line("a.wav", 1, 4) + wrong + "\n");
      ADD_FAILURE() << wrong;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(file() + ":2 is no line"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW((void)read_judged_results(folder_.path() / "none", 1), DataError);
}

}  // namespace
}  // namespace penstock::tools
