#include "runtime/trainer/validation_metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace penstock::runtime {
namespace {

constexpr EvaluationReport kReport{.utterances = 4, .loss = 3, .wer = 0.5, .cer = 0.25};

TEST(ValidationMetric, IsTheNamedNumberOfTheReport) {
  EXPECT_EQ(validation_metric(kReport, "wer"), 0.5);
  EXPECT_EQ(validation_metric(kReport, "cer"), 0.25);
  EXPECT_EQ(validation_metric(kReport, "loss"), 3);
  EXPECT_THROW((void)validation_metric(kReport, "per"), ConfigError);
}

// Nothing was heard, so nothing was wrong: a rate of 0 would be the best.
TEST(ValidationMetric, IsNoNumberWhereNothingWasHeard) {
  EvaluationReport report = kReport;
  report.utterances = 0;
  EXPECT_TRUE(std::isnan(validation_metric(report, "wer")));
}

TEST(BasisChange, NamesWhatDiffers) {
  const ValidationBasis saved{"wer", "set a"};
  EXPECT_EQ(basis_change(saved, {"wer", "set a"}), "");
  EXPECT_EQ(basis_change(saved, {"loss", ""}), "");
  EXPECT_EQ(basis_change(saved, {"wer", "set b"}), "on another data.validation");
  EXPECT_EQ(basis_change(saved, {"loss", "set a"}), "by wer, and trainer.best_metric is now loss");
}

}  // namespace
}  // namespace penstock::runtime
