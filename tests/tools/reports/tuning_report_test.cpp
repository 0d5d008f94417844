#include "tools/reports/tuning_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

/// Two weights within their ranges, and one at the end of both.
class TuningReport : public testing::Test {
 protected:
  TuningReport() {
    trained_.decoding.beam = 30;
    trained_.ctc.lm = "my words.arpa";
    tuning_.tried = {{{.lm_weight = 0.5, .word_score = 1.5}, {{30, 100}, {41, 400}}},
                     {{.lm_weight = 1, .word_score = 0}, {{25, 100}, {44, 400}}},
                     {{.lm_weight = 2, .word_score = -2}, {{26, 100}, {36, 400}}}};
    tuning_.utterances = 1;
  }
  std::string text(std::size_t best, bool by_characters = false) {
    tuning_.best = best;
    search_.by_characters = by_characters;
    return tuning_text({trained_, search_, tuning_});
  }

  runtime::Trained trained_;
  runtime::WeightSearchOptions search_;
  runtime::Tuning tuning_;
};

TEST_F(TuningReport, ListsTheBestFirstAndEndsWithOptions) {
  EXPECT_EQ(text(1),
            "1 utterance, 3 weights tried\n"
            "lm-weight  word-score      WER      CER\n"
            "        1           0  25.00 %  11.00 %  best\n"
            "        2          -2  26.00 %   9.00 %\n"
            "      0.5         1.5  30.00 %  10.25 %  as given\n"
            "--beam 30 --lm 'my words.arpa' --lm-weight 1 --word-score 0\n");
}

TEST_F(TuningReport, SaysWhereToSearchOn) {
  tuning_.skipped = 3;
  trained_.ctc.score_range = 12.5;
  const std::string told = text(2, true);
  EXPECT_NE(told.find("1 utterance, 3 weights tried, 3 left out\n"), std::string::npos) << told;
  EXPECT_NE(told.find("2 lies at the end of its range. Search on with --lm-weights 1 3\n"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("Search on with --word-scores -5 1\n"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with(" --lm-weight 2 --word-score -2 --score-range 12.5\n")) << told;
}

// A language model of no weight is the end, and given weights may lie outside of the ranges.
TEST_F(TuningReport, SuggestsNothingThatMakesNoSense) {
  for (const double weight : {0.0, 5.0, 0.7}) {
    tuning_.tried[1].scoring.lm_weight = weight;
    EXPECT_EQ(text(1).find("Search on with --lm"), std::string::npos) << text(1);
  }
}

TEST_F(TuningReport, PrintsWeightsWhole) {
  tuning_.tried[1].scoring.lm_weight = 2.0 / 3;
  EXPECT_NE(text(1).find("--lm-weight 0.6666666666666666 "), std::string::npos) << text(1);
}

TEST_F(TuningReport, HasEveryTrialInItsJson) {
  tuning_.best = 1;
  const auto json = nlohmann::json::parse(tuning_json({trained_, search_, tuning_}));
  EXPECT_EQ(json.at("tried").size(), 3U);
  EXPECT_EQ(json.at("best").at("wer"), 0.25);
  EXPECT_EQ(json.at("given"), json.at("tried")[0]);
  EXPECT_EQ(json.at("best").at("character_edits"), 44);
}

}  // namespace
}  // namespace penstock::tools
