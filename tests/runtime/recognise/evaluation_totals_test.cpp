#include "runtime/recognise/evaluation_totals.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

EvaluationTotals example() {
  EvaluationTotals totals;
  totals.step = 17;
  totals.manifests = {
      {.utterances = 3,
       .skipped = 1,
       .errors = {{2, 7}, {5, 31}},
       .oracle_word_edits = 1,
       .loss = 1.0 / 3,
       .in_parts = 2,
       .audio_seconds = 0.1 + 0.2},
      {.utterances = 2, .errors = {{1, 5}, {2, 11}}, .loss = 1e-300, .in_parts = 1}};
  totals.by = {{{"anna \"x\" ä", {.utterances = 5}}}, {}};
  totals.done = {4, 2};
  return totals;
}

TEST(EvaluationTotals, ComeBackToTheBit) {
  EXPECT_TRUE(parse_totals(to_text(example())) == example());
  EXPECT_THROW((void)parse_totals("{\"step\": 3}"), DataError);
  const std::string text = to_text(example()), oracle = "\"oracle_word_edits\":1,";
  std::string earlier = text;
  earlier.erase(earlier.find(oracle), oracle.size());  // as earlier versions wrote
  EXPECT_EQ(parse_totals(earlier).manifests.front().utterances, 3);
  EXPECT_THROW((void)parse_totals("nonsense"), DataError);
}

TEST(EvaluationTotals, GiveRatesOfTheSums) {
  const EvaluationReport report = report_of(sum_of(example()));
  EXPECT_EQ(report.utterances, 5);
  EXPECT_EQ(report.skipped, 1);
  EXPECT_EQ(report.word_edits, 3);
  EXPECT_EQ(report.oracle_word_edits, 1);
  EXPECT_DOUBLE_EQ(report.wer, 3.0 / 12);
  EXPECT_DOUBLE_EQ(report.cer, 7.0 / 42);
  EXPECT_DOUBLE_EQ(report.loss, 1.0 / 3 / 5);
  EXPECT_EQ(sum_of(example()).in_parts, 3);
}

TEST(EvaluationTotals, AFailedUtteranceIsASkippedOne) {
  Recognised failed;
  failed.errors = {{1, 2}, {3, 4}};
  failed.fault = "a.wav: gone";
  EXPECT_TRUE(tally_of(failed) == ErrorTally{.skipped = 1});
  failed.fault = "";
  failed.oracle_word_edits = 1;
  EXPECT_EQ(tally_of(failed).errors.characters.reference, 4);
  EXPECT_EQ(tally_of(failed).oracle_word_edits, 1);
}

}  // namespace
}  // namespace penstock::runtime
