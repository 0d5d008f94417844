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

TEST(MetricRecord, ListsTheManifestsOfAValidation) {
  const EvaluationReport report{
      .parts = {{"a/dev", 2, 0.25, 0.125}, {"unheard", 0, 0, 0}, {"b.jsonl", 3, 0.5, 0.75}}};
  const nlohmann::json expected = {
      {{"manifest", "a/dev"}, {"wer", 0.25}, {"cer", 0.125}, {"utterances", 2}},
      {{"manifest", "unheard"}, {"utterances", 0}},
      {{"manifest", "b.jsonl"}, {"wer", 0.5}, {"cer", 0.75}, {"utterances", 3}}};
  EXPECT_EQ(record_of(report)["validation_manifests"], expected);
  const auto scalars = metric_scalars(report);
  const std::vector<EventScalar> last(scalars.end() - 4, scalars.end());
  const std::vector<EventScalar> rates = {{"validation/wer/a/dev", 0.25},
                                          {"validation/cer/a/dev", 0.125},
                                          {"validation/wer/b.jsonl", 0.5},
                                          {"validation/cer/b.jsonl", 0.75}};
  EXPECT_EQ(last, rates);
}

}  // namespace
}  // namespace penstock::runtime
