#include "runtime/optim/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::runtime {
namespace {

configs::LrScheduleConfig schedule(const char* kind) {
  configs::LrScheduleConfig s;
  s.kind = kind;
  s.warmup = 4;
  s.total_steps = 24;
  s.min_lr = 0.1;
  s.power = 2;
  s.decay = 0.5;
  s.decay_steps = 10;
  return s;
}

TEST(LearningRate, WarmsUpLinearlyToThePeak) {
  for (const char* kind : {"constant", "exponential", "cosine", "polynomial"}) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 2, 0), 0.5) << kind;
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 2, 3), 2) << kind;
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 2, 4), 2) << kind;
  }
}

TEST(LearningRate, FallsAsItsKindSays) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule("constant"), 2, 1000), 2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule("exponential"), 2, 9), std::sqrt(2));
  EXPECT_DOUBLE_EQ(learning_rate(schedule("exponential"), 2, 14), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule("exponential"), 2, 24), 0.5);
  EXPECT_NEAR(learning_rate(schedule("cosine"), 2, 14), 0.1 + 1.9 / 2, 1e-15);
  EXPECT_NEAR(learning_rate(schedule("polynomial"), 2, 14), 0.1 + 1.9 / 4, 1e-15);
}

TEST(LearningRate, StaysAtMinLrAfterTotalSteps) {
  for (const char* kind : {"cosine", "polynomial"})
    for (std::int64_t step : {24, 25, 1000})
      EXPECT_NEAR(learning_rate(schedule(kind), 2, step), 0.1, 1e-15) << kind;
}

}  // namespace
}  // namespace penstock::runtime
