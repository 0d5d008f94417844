#include "tools/reports/recognition_report.h"

#include <gtest/gtest.h>

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
