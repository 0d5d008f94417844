#include "runtime/trainer/best_validation.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

EvaluationReport validation(std::int64_t step, double wer) {
  EvaluationReport report;
  report.step = step;
  report.wer = wer;
  return report;
}

TrainingState state_of(const BestValidation& best) {
  TrainingState state;
  best.write_to(state);
  return state;
}

TEST(BestValidation, IsTheFirstOfTheLowestRate) {
  BestValidation best("set a");
  EXPECT_EQ(state_of(best), TrainingState{});
  EXPECT_TRUE(best.beaten_by(validation(10, 1)));
  best.set(validation(10, 0.5));
  EXPECT_FALSE(best.beaten_by(validation(20, 0.5)));
  EXPECT_TRUE(best.beaten_by(validation(30, 0.25)));
  EXPECT_EQ(state_of(best).best_step, 10);
}

TEST(BestValidation, GoesOnFromACheckpoint) {
  BestValidation before("set a");
  before.set(validation(10, 0.5));
  for (const char* now : {"set a", ""}) {
    BestValidation best(now);
    EXPECT_EQ(best.recall(state_of(before), true), "");
    EXPECT_EQ(state_of(best), state_of(before));
  }
}

TEST(BestValidation, BeginsAnewWithoutItsUtterancesOrCheckpoint) {
  BestValidation before("set a");
  before.set(validation(10, 0.5));
  BestValidation other("set b"), gone("set a");
  EXPECT_NE(other.recall(state_of(before), true), "");
  EXPECT_NE(gone.recall(state_of(before), false), "");
  for (const BestValidation& best : {other, gone}) {
    EXPECT_TRUE(best.beaten_by(validation(20, 1)));
    EXPECT_EQ(state_of(best), TrainingState{});
  }
}

}  // namespace
}  // namespace penstock::runtime
