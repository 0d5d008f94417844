#include "runtime/trainer/best_validation.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace penstock::runtime {
namespace {

EvaluationReport validation(std::int64_t step, double wer) {
  return {.step = step, .utterances = 3, .wer = wer};
}

BestValidation best_by_wer(const std::string& corpus) {
  return BestValidation(ValidationBasis{"wer", corpus});
}

TrainingState state_of(const BestValidation& best) {
  TrainingState state;
  best.write_to(state);
  return state;
}

TEST(BestValidation, IsTheFirstOfTheLowestRate) {
  BestValidation best = best_by_wer("set a");
  EXPECT_EQ(state_of(best), TrainingState{});
  EXPECT_TRUE(best.beaten_by(validation(10, 1)));
  best.set(validation(10, 0.5));
  EXPECT_FALSE(best.beaten_by(validation(20, 0.5)));
  EXPECT_TRUE(best.beaten_by(validation(30, 0.25)));
  EXPECT_EQ(state_of(best).best_step, 10);
}

TEST(BestValidation, HasTheLowestOfTheChosenMetric) {
  BestValidation best(ValidationBasis{"loss", "set a"});
  best.set({.step = 10, .utterances = 3, .loss = 2, .wer = 0.5});
  EXPECT_FALSE(best.beaten_by({.step = 20, .utterances = 3, .loss = 2.5, .wer = 0.1}));
  EXPECT_TRUE(best.beaten_by({.step = 20, .utterances = 3, .loss = 1.5, .wer = 0.9}));
  EXPECT_EQ(state_of(best).best_metric, "loss");
  EXPECT_EQ(best.mark().metric, "loss");
  EXPECT_EQ(best.mark().value, 2);
  EXPECT_EQ(best.mark().step, 10);
}

TEST(BestValidation, IsNeverWithoutAFiniteNumber) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    BestValidation best = best_by_wer("set a");
    EXPECT_FALSE(best.beaten_by(validation(10, value)));
    best.set(validation(10, 0.5));
    EXPECT_FALSE(best.beaten_by(validation(20, value)));
  }
}

TEST(BestValidation, GoesOnFromACheckpoint) {
  BestValidation before = best_by_wer("set a");
  before.set(validation(10, 0.5));
  // Without utterances a run has no validation to compare, by whatever metric.
  for (const ValidationBasis& now :
       std::vector<ValidationBasis>{{"wer", "set a"}, {"wer", ""}, {"loss", ""}}) {
    BestValidation best(now);
    EXPECT_EQ(best.recall(state_of(before), true), "");
    EXPECT_EQ(state_of(best), state_of(before));
  }
}

TEST(BestValidation, BeginsAnewWhereItsBasisIsGone) {
  BestValidation before = best_by_wer("set a");
  before.set(validation(10, 0.5));
  BestValidation data = best_by_wer("set b"), gone = best_by_wer("set a");
  BestValidation metric(ValidationBasis{"loss", "set a"});
  EXPECT_EQ(data.recall(state_of(before), true),
            "the best checkpoint so far, of step 10, was chosen on another data.validation: the "
            "next validation begins the search anew");
  EXPECT_EQ(metric.recall(state_of(before), true),
            "the best checkpoint so far, of step 10, was chosen by wer, and trainer.best_metric is "
            "now loss: the next validation begins the search anew");
  EXPECT_EQ(gone.recall(state_of(before), false),
            "the best checkpoint so far, of step 10, is gone: the next validation begins the "
            "search anew");
  for (const BestValidation& best : {data, metric, gone}) {
    EXPECT_TRUE(best.beaten_by(validation(20, 1)));
    EXPECT_EQ(state_of(best), TrainingState{});
  }
}

}  // namespace
}  // namespace penstock::runtime
