#include "tools/reports/training/results_section.h"

#include <gtest/gtest.h>

#include "runtime/data/audio/write_wav.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

JudgedText wrong_text(const std::string& audio) {
  return {.audio = audio,
          .reference = "one <b>two",
          .hypothesis = "one & three",
          .edits = {1, 1, 2, 5, 10}};
}

TEST(ResultsSection, ShowsRatesAndWorstUtterances) {
  const test::TemporaryFolder folder;
  const std::string audio = folder.path() / "a.wav";
  runtime::write_wav(audio, std::vector<float>(800, 0.25f), 8000);
  JudgedResults results{.file = "results.jsonl", .all = {4, 1, 8, 5, 40}};
  results.manifests["clean.jsonl"] = {4, 1, 8, 5, 40};
  results.fields["speaker"]["ann"] = {4, 1, 8, 5, 40};
  results.worst = {wrong_text(audio)};
  results.failed = 2;
  const std::string html = results_html(results);
  EXPECT_NE(html.find("results.jsonl: 4 utterances. 2 failed."), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\">clean.jsonl</th>"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\">ann</th>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"n\">12.50 %</td>"), std::string::npos);
  EXPECT_NE(html.find("one &lt;b&gt;two"), std::string::npos);
  EXPECT_NE(html.find("one &amp; three"), std::string::npos);
  EXPECT_NE(html.find("1 edit in 2 words."), std::string::npos);
  EXPECT_NE(html.find("src=\"data:audio/wav;base64,"), std::string::npos);
}

TEST(ResultsSection, SaysWhyARecordingIsMissing) {
  const JudgedResults results{.all = {1, 1, 2, 5, 10}, .worst = {wrong_text("/nowhere/<x>.wav")}};
  const std::string html = results_html(results);
  EXPECT_NE(html.find("no recording: /nowhere/&lt;x&gt;.wav"), std::string::npos) << html;
  EXPECT_EQ(html.find("<audio"), std::string::npos);
}

TEST(ResultsSection, NoErrorsAreSaid) {
  EXPECT_NE(results_html({.all = {3, 0, 9, 0, 30}}).find("No utterance has an error."),
            std::string::npos);
}

TEST(ResultsSection, NothingJudgedIsNoSuccess) {
  for (const std::int64_t failed : {0, 3}) {
    const std::string html = results_html({.file = "results.jsonl", .failed = failed});
    EXPECT_NE(html.find("No utterance was judged."), std::string::npos);
    EXPECT_EQ(html.find("has an error"), std::string::npos);
    EXPECT_EQ(html.find("%"), std::string::npos);
  }
}

/// With --worst 0 no utterance is shown, and none is said to be without errors.
TEST(ResultsSection, HiddenErrorsAreNotDenied) {
  const std::string html = results_html({.all = {3, 2, 9, 4, 30}});
  EXPECT_EQ(html.find("No utterance"), std::string::npos);
  EXPECT_EQ(html.find("<h3>"), std::string::npos);
}

TEST(ResultsSection, FieldsHaveABound) {
  JudgedResults results{.all = {300, 1, 900, 1, 3000}};
  for (int i = 0; i < 300; ++i) results.fields["id"]["v" + std::to_string(i)] = {};
  const std::string html = results_html(results);
  EXPECT_NE(html.find("The first 50 of 300."), std::string::npos);
  EXPECT_EQ(html.find("v99<"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
