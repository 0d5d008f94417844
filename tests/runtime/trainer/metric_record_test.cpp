#include "runtime/trainer/metric_record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::runtime {
namespace {

template <class Report>
nlohmann::json record_of(const Report& report) {
  return nlohmann::json::parse(metric_line(report));
}

TEST(MetricRecord, HasRareKeysOnlyWhereTheySaySomething) {
  StepReport report;
  for (const char* key : {"loss_scale", "skipped", "failed_utterances"})
    EXPECT_FALSE(record_of(report).contains(key)) << key;
  report.loss_scale = 1024;
  report.skipped = true;
  report.failed_utterances = 2;
  EXPECT_EQ(record_of(report)["loss_scale"], 1024);
  EXPECT_EQ(record_of(report)["skipped"], true);
  EXPECT_EQ(record_of(report)["failed_utterances"], 2);
}

TEST(MetricRecord, HasTheSpeedOfTheStep) {
  StepReport report;
  report.audio_seconds = 30;
  report.step_seconds = 4;
  EXPECT_EQ(record_of(report)["audio_seconds_per_second"], 7.5);
}

TEST(MetricRecord, NamesEachNumberOfAValidation) {
  const EvaluationReport report{.step = 4,
                                .utterances = 9,
                                .skipped = 1,
                                .loss = 0.5,
                                .wer = 0.25,
                                .cer = 0.125,
                                .seconds = 2};
  const nlohmann::json expected = {{"step", 4},
                                   {"validation_loss", 0.5},
                                   {"validation_wer", 0.25},
                                   {"validation_cer", 0.125},
                                   {"validation_utterances", 9},
                                   {"validation_skipped_utterances", 1},
                                   {"validation_seconds", 2.0}};
  EXPECT_EQ(record_of(report), expected);
}

}  // namespace
}  // namespace penstock::runtime
