#include "tools/reports/timed_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

/// Returns a segment that begins 1.5 s after its recording does.
runtime::JudgedUtterance said_later() {
  runtime::JudgedUtterance utterance;
  utterance.source.audio = "calls/a b.wav";
  utterance.source.length = {16000, 8000};
  utterance.source.first = 12000;
  utterance.recognised.reference = "one two";
  utterance.recognised.words = {{"one", 0.1, 0.30000001, 0.9}, {"two", 0.4, 1.2, 0.8}};
  return utterance;
}

TEST(TimedLines, AreLinesOfAManifest) {
  EXPECT_EQ(aligned_line(said_later()),
            "{\"audio_filepath\":\"calls/a b.wav\",\"offset\":1.5,\"duration\":2.0,"
            "\"text\":\"one two\",\"words\":[{\"word\":\"one\",\"start\":0.1,\"end\":0.3,"
            "\"confidence\":0.9},{\"word\":\"two\",\"start\":0.4,\"end\":1.2,"
            "\"confidence\":0.8}],\"confidence\":0.85}\n");
}

TEST(TimedLines, AreCtmOfTheRecording) {
  EXPECT_EQ(aligned_ctm(said_later()),
            "a_b 1 1.600 0.200 one 0.900\n"
            "a_b 1 1.900 0.800 two 0.800\n");
}

TEST(TimedLines, HoldAFaultWithoutWords) {
  runtime::JudgedUtterance utterance = said_later();
  utterance.source.first.reset();
  utterance.recognised = {};
  utterance.recognised.fault = "gone";
  EXPECT_EQ(aligned_line(utterance),
            "{\"audio_filepath\":\"calls/a b.wav\",\"duration\":2.0,\"error\":\"gone\"}\n");
  EXPECT_EQ(aligned_ctm(utterance), "");
  nlohmann::ordered_json silent;
  add_words(silent, {});
  EXPECT_EQ(silent.dump(), "{\"words\":[]}");
}

}  // namespace
}  // namespace penstock::tools
