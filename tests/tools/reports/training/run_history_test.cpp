#include "tools/reports/training/run_history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/trainer/metric_record.h"

namespace penstock::tools {
namespace {

std::string step_line(std::int64_t step, double loss) {
  return runtime::metric_line(runtime::StepReport{.step = step,
                                                  .epoch = 2,
                                                  .loss = loss,
                                                  .learning_rate = 1e-3,
                                                  .gradient_norm = 7,
                                                  .audio_seconds = 12,
                                                  .step_seconds = 3}) +
         '\n';
}

std::string validation_line(std::int64_t step, double wer) {
  return runtime::metric_line(
             runtime::EvaluationReport{.step = step, .loss = 5, .wer = wer, .cer = 0.1}) +
         '\n';
}

/// The lines are those that a training writes.
TEST(RunHistory, HasWhatTrainingsRecord) {
  const RunHistory history =
      parse_history(step_line(1, 4.5) + step_line(2, 4) + validation_line(2, 0.75));
  ASSERT_EQ(history.steps.size(), 2u);
  EXPECT_EQ(history.steps[0].step, 1);
  EXPECT_EQ(history.steps[0].epoch, 2);
  EXPECT_EQ(history.steps[0].loss, 4.5);
  EXPECT_EQ(history.steps[0].learning_rate, 1e-3);
  EXPECT_EQ(history.steps[0].gradient_norm, 7);
  EXPECT_EQ(history.steps[0].speed(), 4);
  ASSERT_EQ(history.validations.size(), 1u);
  EXPECT_EQ(history.validations[0].step, 2);
  EXPECT_EQ(history.validations[0].loss, 5);
  EXPECT_EQ(history.validations[0].wer, 0.75);
  EXPECT_EQ(history.validations[0].cer, 0.1);
  EXPECT_FALSE(history.torn);
  EXPECT_EQ(history.not_records + history.repeated, 0);
}

TEST(RunHistory, NumbersThatAreNotFiniteAreNaN) {
  const RunHistory history =
      parse_history(step_line(1, std::numeric_limits<double>::infinity()) +
                    R"({"step":2,"loss":null,"loss_hex":"nan","skipped":true})" + "\n");
  ASSERT_EQ(history.steps.size(), 2u);
  EXPECT_TRUE(std::isnan(history.steps[0].loss.value()));
  EXPECT_TRUE(std::isnan(history.steps[1].loss.value()));
  EXPECT_FALSE(history.steps[0].skipped);
  EXPECT_TRUE(history.steps[1].skipped);
}

/// A key that is missing says nothing, while null says that a number was not finite.
TEST(RunHistory, MissingNumbersAreEmpty) {
  const RunHistory history = parse_history(
      "{\"step\":1,\"loss\":2,\"gradient_norm\":null}\n{\"step\":1,\"validation_loss\":3}\n");
  ASSERT_EQ(history.steps.size(), 1u);
  EXPECT_TRUE(std::isnan(history.steps[0].gradient_norm.value()));
  EXPECT_FALSE(history.steps[0].learning_rate);
  EXPECT_FALSE(history.steps[0].speed());
  ASSERT_EQ(history.validations.size(), 1u);
  EXPECT_FALSE(history.validations[0].wer);
}

TEST(RunHistory, HasTheManifestsOfValidations) {
  const RunHistory history =
      parse_history(R"({"step":1,"validation_loss":3,"validation_manifests":[)"
                    R"({"manifest":"a.jsonl","utterances":20,"wer":0.125,"cer":0.02},)"
                    R"({"manifest":"b.jsonl","utterances":0},{"wer":1},7]})"
                    "\n"
                    R"({"step":2,"validation_loss":3,"validation_manifests":"a"})"
                    "\n");
  ASSERT_EQ(history.validations.size(), 2u);
  const auto& manifests = history.validations[0].manifests;
  ASSERT_EQ(manifests.size(), 2u);
  EXPECT_EQ(manifests[0].manifest, "a.jsonl");
  EXPECT_EQ(manifests[0].wer, 0.125);
  EXPECT_EQ(manifests[1].manifest, "b.jsonl");
  EXPECT_FALSE(manifests[1].wer);
  EXPECT_TRUE(history.validations[1].manifests.empty());
}

TEST(RunHistory, LeavesOutATornLine) {
  const std::string last = step_line(2, 4);
  for (std::size_t bytes = 1; bytes + 2 < last.size(); ++bytes) {
    const RunHistory history = parse_history(step_line(1, 4.5) + last.substr(0, bytes));
    EXPECT_EQ(history.steps.size(), 1u);
    EXPECT_TRUE(history.torn) << bytes;
    EXPECT_EQ(history.not_records, 0);
  }
}

TEST(RunHistory, TakesAWholeLineWithoutItsEnd) {
  std::string text = step_line(1, 4.5);
  text.pop_back();
  const RunHistory history = parse_history(text);
  EXPECT_EQ(history.steps.size(), 1u);
  EXPECT_FALSE(history.torn);
}

TEST(RunHistory, LaterRecordsReplaceEarlierOnes) {
  const RunHistory history =
      parse_history(step_line(1, 9) + step_line(2, 8) + validation_line(2, 0.9) + step_line(3, 7) +
                    step_line(4, 6) + validation_line(4, 0.8) + step_line(3, 5) + step_line(4, 4) +
                    validation_line(4, 0.7) + validation_line(4, 0.6));
  ASSERT_EQ(history.steps.size(), 4u);
  EXPECT_EQ(history.steps[2].loss, 5);
  EXPECT_EQ(history.steps[3].loss, 4);
  ASSERT_EQ(history.validations.size(), 2u);
  EXPECT_EQ(history.validations[0].wer, 0.9);
  EXPECT_EQ(history.validations[1].wer, 0.6);
  EXPECT_EQ(history.repeated, 4);
}

TEST(RunHistory, CountsLinesThatAreNoRecords) {
  std::string deep(1000, '[');
  const RunHistory history =
      parse_history("nonsense\n[1]\n{\"loss\":3}\n{\"step\":-2,\"loss\":1}\n{\"step\":3}\n" + deep +
                    "\n{\"step\":\"4\",\"loss\":1}\n\n" + step_line(1, 2));
  EXPECT_EQ(history.not_records, 7);
  EXPECT_EQ(history.steps.size(), 1u);
}

TEST(RunHistory, KnowsWhyARunEnded) {
  const std::string end = runtime::metric_line(runtime::EarlyEnd{2, "no progress"}) + '\n';
  EXPECT_EQ(parse_history(step_line(1, 2) + end).early_end, "no progress");
  EXPECT_EQ(parse_history(end + step_line(1, 2)).early_end, "");
}

TEST(RunHistory, NothingIsNoRecord) {
  EXPECT_TRUE(parse_history("").empty());
  EXPECT_TRUE(parse_history("\n").empty());
}

}  // namespace
}  // namespace penstock::tools
