#include "tools/reports/recognition_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

TEST(TranscriptLines, HoldTextOrError) {
  EXPECT_EQ(transcript_line({{"a \"b\".wav"}, 1.5, "ab ä"}),
            "{\"audio_filepath\":\"a \\\"b\\\".wav\",\"duration\":1.5,\"text\":\"ab ä\"}\n");
  EXPECT_EQ(transcript_line({{"a.wav", runtime::Segment{0.5, 3}}, 2, ""}),
            "{\"audio_filepath\":\"a.wav\",\"offset\":0.5,\"duration\":2.0,\"text\":\"\"}\n");
  EXPECT_EQ(transcript_line({{"\xFF.wav"}, 0, "", "gone"}),
            "{\"audio_filepath\":\"\xEF\xBF\xBD.wav\",\"error\":\"gone\"}\n");
}

TEST(TranscriptLines, HoldScoresOfBeams) {
  runtime::Transcript transcript{{"a.wav"}, 0, "ab"};
  transcript.score = -0.25;
  EXPECT_EQ(transcript_line(transcript),
            "{\"audio_filepath\":\"a.wav\",\"text\":\"ab\",\"score\":-0.25}\n");
  transcript.nbest = {{"ab", -0.25}, {"b", -1}};
  EXPECT_EQ(transcript_line(transcript),
            "{\"audio_filepath\":\"a.wav\",\"text\":\"ab\",\"score\":-0.25,\"nbest\":"
            "[{\"text\":\"ab\",\"score\":-0.25},{\"text\":\"b\",\"score\":-1.0}]}\n");
}

TEST(EvaluationReports, HaveAnOracleWithNBest) {
  const runtime::TestSet test{{"x.jsonl"}, false, {"speaker"}};
  runtime::EvaluationTotals totals;
  totals.step = 3;
  const runtime::ErrorTally tally{
      .utterances = 2, .errors = {{4, 8}, {5, 20}}, .oracle_word_edits = 1};
  totals.manifests = {tally};
  totals.by = {{{"anna", tally}}};
  EXPECT_EQ(evaluation_text({test, totals, 1}).find("oracle"), std::string::npos);
  EXPECT_EQ(evaluation_json({test, totals, 1}).find("oracle"), std::string::npos);
  const std::string text = evaluation_text({test, totals, 1, 5});
  EXPECT_NE(text.find("\nan oracle's choice of 5 texts: WER 12.50 % (1 of 8 words)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("oracle WER"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(evaluation_json({test, totals, 1, 5}));
  for (const nlohmann::json& one : {json, json["by"]["speaker"]["anna"]}) {
    EXPECT_EQ(one["nbest"], 5);
    EXPECT_EQ(one["oracle_wer"], 0.125);
    EXPECT_EQ(one["oracle_word_edits"], 1);
  }
}

TEST(EvaluationReports, HaveNoLossOfRecordingsInParts) {
  const runtime::TestSet test{{"x.jsonl", "y.jsonl"}};
  runtime::EvaluationTotals totals;
  totals.manifests = {{.utterances = 2, .loss = 3}, {.utterances = 4, .loss = 5}};
  EXPECT_NE(evaluation_text({test, totals, 1}).find(", loss 1.333\n"), std::string::npos);
  totals.manifests[1].in_parts = 1;
  EXPECT_EQ(evaluation_text({test, totals, 1}).find("loss"), std::string::npos);
  const auto json = nlohmann::json::parse(evaluation_json({test, totals, 1}));
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_EQ(json["manifests"][0]["loss"], 1.5);
  EXPECT_TRUE(json["manifests"][1]["loss"].is_null());
}

TEST(TranscriptLines, HoldReferenceHypothesisAndEdits) {
  runtime::JudgedUtterance utterance;
  utterance.manifest = 1;
  utterance.source = {"a.wav", {8000, 16000}, 4000};
  utterance.recognised = {"abd", "abc d", {{2, 2}, {2, 5}}, ""};
  utterance.values = {"anna"};
  runtime::TestSet test{{"x.jsonl", "y.jsonl"}, false, {"speaker"}};
  EXPECT_EQ(judged_line(utterance, test),
            "{\"manifest\":\"y.jsonl\",\"audio_filepath\":\"a.wav\",\"offset\":0.25,"
            "\"duration\":0.5,\"by\":{\"speaker\":\"anna\"},\"reference\":\"abc d\","
            "\"hypothesis\":\"abd\",\"word_edits\":2,\"words\":2,\"character_edits\":2,"
            "\"characters\":5}\n");
  utterance = {};
  utterance.source = {"a.wav", {8000, 16000}};
  utterance.recognised.fault = "a.wav: gone";
  EXPECT_EQ(judged_line(utterance, {{"x.jsonl"}}),
            "{\"audio_filepath\":\"a.wav\",\"duration\":0.5,\"error\":\"a.wav: gone\"}\n");
}

}  // namespace
}  // namespace penstock::tools
