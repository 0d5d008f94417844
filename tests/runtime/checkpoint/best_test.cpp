#include "runtime/checkpoint/best.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::TemporaryFolder;

TEST(Best, IsRemembered) {
  const TemporaryFolder output;
  EXPECT_FALSE(best_checkpoint(output.path()));
  mark_best(output.path(), {20, "cer", 0.1});
  mark_best(output.path(), {30, "cer", 0.05});
  const auto best = best_checkpoint(output.path());
  ASSERT_TRUE(best);
  EXPECT_EQ(best->step, 30);
  EXPECT_EQ(best->metric, "cer");
  EXPECT_EQ(best->value, 0.05);
}

TEST(Best, RejectsADamagedMark) {
  const TemporaryFolder output;
  for (const char* text : {"", "{", "{}", R"({"checkpoint":"x","metric":"cer","value":1})"}) {
    test::write_file(output.path() / "BEST", text);
    EXPECT_THROW(best_checkpoint(output.path()), CheckpointError) << text;
  }
}

/// An output folder with checkpoints of these steps and a mark on one of them, or none.
void fill(const TemporaryFolder& output, std::vector<std::int64_t> steps, std::int64_t marked) {
  for (const std::int64_t step : steps)
    std::filesystem::create_directory(output.path() / checkpoint_name(step));
  mark_best(output.path(), {marked, "wer", 0.5});
}

TrainingState best_at(std::int64_t step) {
  TrainingState state;
  state.best_metric = "wer";
  state.best_value = 0.25;
  state.best_step = step;
  return state;
}

TEST(Best, IsWhatTheCheckpointKnows) {
  const TemporaryFolder output;
  fill(output, {10, 20}, 10);  // killed between the save of 20 and its mark
  EXPECT_TRUE(restore_best(output.path(), best_at(20)));
  EXPECT_EQ(best_checkpoint(output.path())->step, 20);
  EXPECT_EQ(best_checkpoint(output.path())->value, 0.25);
}

TEST(Best, IsForgottenOnceItIsGone) {
  const TemporaryFolder output;
  fill(output, {10}, 20);  // 20 was set aside, and 5 removed when 20 became the best
  EXPECT_FALSE(restore_best(output.path(), best_at(5)));
  EXPECT_FALSE(best_checkpoint(output.path()));
}

TEST(Best, StaysWhereTheCheckpointKnowsNone) {
  const TemporaryFolder output;
  fill(output, {10, 20}, 10);
  EXPECT_FALSE(restore_best(output.path(), TrainingState{}));
  EXPECT_EQ(best_checkpoint(output.path())->step, 10);
}

}  // namespace
}  // namespace penstock::runtime
