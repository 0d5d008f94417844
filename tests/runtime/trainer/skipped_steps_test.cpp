#include "runtime/trainer/skipped_steps.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns the error after steps that were skipped ('x': with a loss that is not finite, 's': with
/// one that is) or taken ('.'). They follow step `done`.
std::string said_of(const std::string& steps, SkippedSteps& watch, std::int64_t done = 0) {
  return test::message_of<DivergenceError>([&] {
    for (const char kind : steps) {
      StepReport report;
      report.step = ++done;
      report.skipped = kind != '.';
      report.loss = kind == 'x' ? kNaN : 1;
      report.learning_rate = 0.5;
      watch.count(report);
    }
  });
}

std::string said_at_the_end(const std::string& steps) {
  SkippedSteps watch(3);
  EXPECT_EQ(said_of(steps, watch), "");
  return test::message_of<DivergenceError>([&] { watch.check_end(); });
}

TEST(SkippedSteps, MayBeFewInARow) {
  SkippedSteps watch(3);
  EXPECT_EQ(said_of("sss.x.xxs..", watch), "");
  EXPECT_EQ(watch.total(), 7);
}

TEST(SkippedSteps, AreDivergenceWhereMoreFollowEachOther) {
  SkippedSteps watch(3);
  const std::string message = said_of("..sxxx", watch, 10);
  EXPECT_NE(message.find("of the last 4 steps (13 to 16) is finite"), std::string::npos) << message;
  EXPECT_NE(message.find("last loss nan, learning rate 0.5"), std::string::npos) << message;
}

TEST(SkippedSteps, AreDivergenceAtTheEndWithoutALoss) {
  EXPECT_NE(said_at_the_end("..x").find("1 step (3 to 3)"), std::string::npos);
  EXPECT_EQ(said_at_the_end("..xs"), "");
  EXPECT_EQ(said_at_the_end(".x."), "");
}

}  // namespace
}  // namespace penstock::runtime
