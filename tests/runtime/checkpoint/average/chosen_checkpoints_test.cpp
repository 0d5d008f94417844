#include "runtime/checkpoint/average/chosen_checkpoints.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// An output folder with checkpoints of these steps, and those of which metrics.jsonl has a rate.
class ChosenCheckpoints : public testing::Test {
 protected:
  void fill(const std::vector<std::int64_t>& steps, const std::string& metrics) const {
    for (const std::int64_t step : steps) test::save_example(output(), step, 1);
    test::write_file(output() / "metrics.jsonl", metrics);
  }

  fs::path output() const { return folder_.path(); }

  static Names names(const std::vector<fs::path>& folders) {
    Names names;
    for (const fs::path& folder : folders) names.push_back(folder.filename().string());
    return names;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(ChosenCheckpoints, AreTheNewest) {
  fill({10, 20, 30, 40}, "");
  EXPECT_EQ(names(last_checkpoints(output(), 2)),
            (Names{"checkpoint-000000030", "checkpoint-000000040"}));
}

// The line of a step has a loss and no rate, and the last one was cut off.
TEST_F(ChosenCheckpoints, AreTheBestOfThoseValidated) {
  fill({10, 20, 30, 40, 50},
       "{\"step\":5,\"validation_wer\":0.01}\n{\"step\":10,\"validation_wer\":0.5}\n"
       "{\"step\":20,\"loss\":0.001}\n{\"step\":30,\"validation_wer\":0.3}\n"
       "{\"step\":40,\"validation_wer\":0.4}\n{\"step\":50,\"validation_wer\":0.3}\n{\"step\":20,"
       "\"validation_w");
  EXPECT_EQ(names(best_checkpoints(output(), 3)),
            (Names{"checkpoint-000000030", "checkpoint-000000050", "checkpoint-000000040"}));
  const std::string few =
      test::message_of<CheckpointError>([&] { (void)best_checkpoints(output(), 5); });
  EXPECT_NE(few.find("holds 4 checkpoints that were validated, but 5 are to be averaged: ask for "
                     "--best 4, or let the training keep more, by the override\n  trainer.keep=5"),
            std::string::npos)
      << few;
}

// A loss that is not finite is null.
TEST_F(ChosenCheckpoints, AreTheBestByTheMarkedMetric) {
  fill({10, 20, 30, 40},
       "{\"step\":10,\"validation_wer\":0.1,\"validation_loss\":4}\n"
       "{\"step\":20,\"validation_wer\":0.2,\"validation_loss\":2}\n"
       "{\"step\":30,\"validation_wer\":0.3,\"validation_loss\":3}\n"
       "{\"step\":40,\"validation_wer\":0.4,\"validation_loss\":null}\n");
  mark_best(output(), {20, "loss", 2});
  EXPECT_EQ(names(best_checkpoints(output(), 2)),
            (Names{"checkpoint-000000020", "checkpoint-000000030"}));
  EXPECT_THROW((void)best_checkpoints(output(), 4), CheckpointError);
  mark_best(output(), {10, "wer", 0.1});
  EXPECT_EQ(names(best_checkpoints(output(), 2)),
            (Names{"checkpoint-000000010", "checkpoint-000000020"}));
}

TEST_F(ChosenCheckpoints, AreRefusedWhereThereAreFewer) {
  EXPECT_THROW((void)last_checkpoints(output() / "nowhere", 2), CheckpointError);
  fill({10}, "");
  const std::string one =
      test::message_of<CheckpointError>([&] { (void)last_checkpoints(output(), 2); });
  EXPECT_EQ(one.find("--last"), std::string::npos) << one;
  fs::remove(output() / "metrics.jsonl");
  EXPECT_THROW((void)best_checkpoints(output(), 2), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
