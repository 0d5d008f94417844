#include "runtime/trainer/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace penstock::runtime {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const ValidationBasis kBasis{"wer", "set a"};

/// The validation number `i`, after every tenth step.
EvaluationReport numbered(std::size_t i, double wer) {
  return {.step = 10 * (static_cast<std::int64_t>(i) + 1), .utterances = 3, .wer = wer};
}

TrainingState state_of(const EarlyStopping& stopping) {
  TrainingState state;
  stopping.write_to(state);
  return state;
}

/// Returns the number of validations after which the run ends; 0 if it never does. By definition:
/// it ends with the first validation before which, itself included, `patience` in a row are no
/// better than the value to beat, which steps down from better one to better one.
std::size_t end_by_definition(const std::vector<double>& values, std::size_t patience,
                              double threshold) {
  for (std::size_t end = 1; end <= values.size(); ++end) {
    std::size_t last = 0;  // number of the last better one
    double to_beat = kNaN;
    for (std::size_t i = 1; i <= end; ++i)
      if (const double value = values[i - 1];
          std::isfinite(value) && (std::isnan(to_beat) || to_beat - value > threshold)) {
        to_beat = value;
        last = i;
      }
    if (end - last >= patience) return end;
  }
  return 0;
}

/// The same by the class. The run is resumed from its checkpoint after each validation of a
/// sequence of draws in which one of two is.
std::size_t end_of_run(const std::vector<double>& values, const EarlyStopping::Options& options,
                       std::mt19937_64& draw) {
  EarlyStopping stopping(options);
  for (std::size_t i = 0; i < values.size(); ++i) {
    stopping.count(numbered(i, values[i]));
    if (stopping.due()) return i + 1;
    if (draw() % 2 == 0) continue;
    EarlyStopping resumed(options);
    EXPECT_EQ(resumed.recall(state_of(stopping)), "");
    stopping = resumed;
  }
  return 0;
}

TEST(EarlyStopping, EndsByItsDefinitionHoweverOftenResumed) {
  std::mt19937_64 draw(1);
  std::size_t ended = 0;
  for (int sequence = 0; sequence < 2000; ++sequence) {
    std::vector<double> values(1 + draw() % 12);
    for (double& value : values) {
      const auto level = static_cast<double>(draw() % 9);
      value = level == 8 ? kNaN : level / 8;
    }
    const std::size_t patience = 1 + draw() % 4;
    const double threshold = static_cast<double>(draw() % 3) / 8;
    const EarlyStopping::Options options{
        .basis = kBasis, .patience = static_cast<std::int64_t>(patience), .threshold = threshold};
    const std::size_t end = end_by_definition(values, patience, threshold);
    EXPECT_EQ(end_of_run(values, options, draw), end) << sequence;
    ended += end > 0 ? 1 : 0;
  }
  EXPECT_GT(ended, 500u);
  EXPECT_LT(ended, 1900u);
}

TEST(EarlyStopping, NeverEndsWithoutPatience) {
  EarlyStopping stopping({.basis = kBasis});
  for (std::size_t i = 0; i < 100; ++i) stopping.count(numbered(i, 1));
  EXPECT_FALSE(stopping.due());
  EarlyStopping patient({.basis = kBasis, .patience = 100}), due({.basis = kBasis, .patience = 99});
  EXPECT_EQ(patient.recall(state_of(stopping)), "");
  EXPECT_EQ(due.recall(state_of(stopping)), "");
  EXPECT_FALSE(patient.due());
  EXPECT_TRUE(due.due());
}

TEST(EarlyStopping, SaysWhatItWaitedFor) {
  EarlyStopping rate({.basis = kBasis, .patience = 2});
  EarlyStopping threshold({.basis = kBasis, .patience = 1, .threshold = 0.125});
  EarlyStopping diverged({.basis = {"loss", "set a"}, .patience = 1});
  for (std::size_t i = 0; i < 3; ++i) rate.count(numbered(i, 0.25));
  EXPECT_EQ(rate.reason(), "no better wer in 2 validations than 0.25 of step 10");
  threshold.count(numbered(0, 0.5));
  threshold.count(numbered(1, 0.375));
  EXPECT_EQ(threshold.reason(),
            "no better wer, by more than 0.125, in 1 validation than 0.5 of step 10");
  diverged.count({.step = 7, .utterances = 3, .loss = kNaN});
  EXPECT_EQ(diverged.reason(), "no finite loss in 1 validation");
}

TEST(EarlyStopping, BeginsAnewByAnotherMetricOrData) {
  EarlyStopping before({.basis = kBasis, .patience = 2});
  for (std::size_t i = 0; i < 3; ++i) before.count(numbered(i, 0.25));
  EarlyStopping metric({.basis = {"loss", "set a"}, .patience = 2});
  EarlyStopping data({.basis = {"wer", "set b"}, .patience = 2});
  EarlyStopping none({.basis = {"cer", ""}});
  EXPECT_EQ(metric.recall(state_of(before)),
            "2 validations without improvement were counted by wer, and trainer.best_metric is now "
            "loss: the count begins anew");
  EXPECT_EQ(data.recall(state_of(before)),
            "2 validations without improvement were counted on another data.validation: the count "
            "begins anew");
  EXPECT_EQ(none.recall(state_of(before)), "");
  EXPECT_FALSE(metric.due());
  EXPECT_FALSE(data.due());
  EXPECT_EQ(metric.has_validated(30), true);
  EXPECT_EQ(state_of(none), state_of(before));
}

// Its best validation is the value to beat. Which steps were validated is not known.
TEST(EarlyStopping, GoesOnFromAnOldCheckpoint) {
  TrainingState old;
  old.best_metric = "wer";
  old.best_value = 0.25;
  old.best_step = 10;
  old.best_corpus_hash = "set a";
  EarlyStopping stopping({.basis = kBasis, .patience = 1});
  EXPECT_EQ(stopping.recall(old), "");
  EXPECT_EQ(stopping.has_validated(20), std::nullopt);
  EXPECT_FALSE(stopping.due());
  stopping.count(numbered(2, 0.375));
  EXPECT_TRUE(stopping.due());
  EXPECT_EQ(stopping.has_validated(20), false);
  EXPECT_EQ(stopping.has_validated(30), true);
}

}  // namespace
}  // namespace penstock::runtime
