#include "runtime/optim/batch_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "runtime/optim/learning_rate.h"

namespace penstock::runtime {
namespace {

configs::Config recipe(const char* scaling, int micro_batches) {
  configs::Config config;
  config.trainer.scaling = scaling;
  config.data.micro_batches = micro_batches;
  config.data.micro_batch_seconds = 20;
  config.lr_schedule = {.kind = "cosine", .warmup = 10, .total_steps = 100};
  return config;
}

/// The batch is halved at step 4, and doubled again at step 8.
const Correction kHalved{4, "data.micro_batches", "8", "4"};
const Correction kDoubled{8, "data.micro_batches", "4", "8"};

TEST(BatchScaling, ChangesNoBitWithoutAChange) {
  const BatchScaling none, unchanged(recipe("linear", 8), {});
  const BatchScaling off(recipe("none", 4), std::vector{kHalved});
  const configs::LrScheduleConfig schedule = recipe("none", 8).lr_schedule;
  for (std::int64_t step = 0; step < 120; step += 7) {
    const double expected = learning_rate(schedule, 0.3, static_cast<double>(step));
    for (const BatchScaling* scaling : {&none, &unchanged, &off})
      EXPECT_EQ(scaling->learning_rate(schedule, 0.3, step, step), expected);
  }
  EXPECT_EQ(off.end_step(100), 100);
}

TEST(BatchScaling, AHalfBatchCountsAsHalfAStep) {
  const configs::LrScheduleConfig schedule = recipe("none", 8).lr_schedule;
  for (const char* rule : {"linear", "sqrt"}) {
    const double factor = rule == std::string("sqrt") ? std::sqrt(0.5) : 0.5;
    const BatchScaling halved(recipe(rule, 4), std::vector{kHalved});
    EXPECT_DOUBLE_EQ(halved.learning_rate(schedule, 0.3, 4, 4),
                     factor * learning_rate(schedule, 0.3, 4));
    EXPECT_DOUBLE_EQ(halved.learning_rate(schedule, 0.3, 11, 11),
                     factor * learning_rate(schedule, 0.3, 7.5));
    EXPECT_DOUBLE_EQ(halved.learning_rate(schedule, 0.3, 11, 9),  // two were skipped
                     factor * learning_rate(schedule, 0.3, 5.5));
    EXPECT_EQ(halved.end_step(100), 4 + 2 * 96);
    const BatchScaling again(recipe(rule, 8), std::vector{kHalved, kDoubled});
    EXPECT_DOUBLE_EQ(again.learning_rate(schedule, 0.3, 8, 8), learning_rate(schedule, 0.3, 6));
    EXPECT_EQ(again.end_step(100), 102);
    EXPECT_EQ(again.end_step(3), 8);  // the run has gone beyond it
  }
}

TEST(BatchScaling, TheBatchIsNumberTimesLength) {
  const std::vector changes{kHalved, Correction{6, "data.micro_batch_seconds", "40.0", "20.0"},
                            Correction{7, "optimizer.clip_norm", "1.0", "2.0"}};
  const BatchScaling quarter(recipe("linear", 4), changes);
  const configs::LrScheduleConfig schedule{.kind = "constant"};
  EXPECT_DOUBLE_EQ(quarter.learning_rate(schedule, 0.3, 20, 20), 0.3 / 4);
  EXPECT_EQ(quarter.end_step(5), 6);  // 4 whole steps and two halves
}

TEST(BatchScaling, CountsChangesUnderItsRuleAlone) {
  const std::vector changes{kHalved, Correction{8, "trainer.scaling", "\"none\"", "\"linear\""},
                            kDoubled};
  const BatchScaling scaling(recipe("linear", 8), changes);
  const configs::LrScheduleConfig schedule{.kind = "constant"};
  EXPECT_DOUBLE_EQ(scaling.learning_rate(schedule, 0.3, 8, 8), 0.6);
}

TEST(BatchScaling, ADamagedChangeIsAnError) {
  for (const char* number : {"", "many", "0", "-1", "1e999", "4x"})
    EXPECT_THROW(
        const BatchScaling scaling(recipe("linear", 4),
                                   std::vector{Correction{4, "data.micro_batches", number, "4"}}),
        CheckpointError)
        << number;
}

/// Three micro-batches, one from step 1 on, and three again at the end.
TEST(BatchScaling, AFinishedRunHasNothingLeftToDo) {
  const Correction fewer{1, "data.micro_batches", "3", "1"};
  const std::int64_t end = BatchScaling(recipe("linear", 1), std::vector{fewer}).end_step(100);
  EXPECT_EQ(end, 298);
  const Correction again{end, "data.micro_batches", "1", "3"};
  EXPECT_EQ(BatchScaling(recipe("linear", 3), std::vector{fewer, again}).end_step(100), end);
}

TEST(BatchScaling, RoundsTheEndUp) {
  const BatchScaling scaling(recipe("linear", 3),
                             std::vector{Correction{0, "data.micro_batches", "8", "3"}});
  EXPECT_EQ(scaling.end_step(100), 267);
}

}  // namespace
}  // namespace penstock::runtime
