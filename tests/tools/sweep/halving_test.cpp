#include "tools/sweep/halving.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

using Steps = std::vector<std::int64_t>;

TEST(RungSteps, AreTheWholeTrainingWithoutHalving) {
  EXPECT_EQ(rung_steps({}, 100, 27), Steps{100});
}

TEST(RungSteps, GrowByTheFactor) {
  EXPECT_EQ(rung_steps({.factor = 3}, 900, 27), (Steps{34, 100, 300, 900}));
  EXPECT_EQ(rung_steps({.factor = 3}, 900, 26), (Steps{100, 300, 900})) << "one run at the end";
  EXPECT_EQ(rung_steps({.factor = 2}, 100, 4), (Steps{25, 50, 100}));
}

TEST(RungSteps, EndAtTheLeastSteps) {
  EXPECT_EQ(rung_steps({.factor = 3, .min_steps = 100}, 900, 27), (Steps{100, 300, 900}));
  EXPECT_EQ(rung_steps({.factor = 2}, 3, 64), (Steps{1, 2, 3})) << "no rung twice";
  EXPECT_EQ(rung_steps({.factor = 5}, 100, 4), Steps{100}) << "too few runs";
}

TEST(Survivors, AreTheLowest) {
  const std::vector<std::optional<double>> metrics = {0.5, 0.2, 0.9, 0.1, 0.3, 0.4, 0.8};
  EXPECT_EQ(survivors(metrics, 3), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(survivors(metrics, 2), (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(survivors(metrics, 10), (std::vector<std::size_t>{3})) << "at least one";
}

TEST(Survivors, TiesGoToTheFirst) {
  const std::vector<std::optional<double>> metrics = {0.5, 0.2, 0.2, 0.2};
  EXPECT_EQ(survivors(metrics, 2), (std::vector<std::size_t>{1, 2}));
}

TEST(Survivors, NeedAMetric) {
  const std::vector<std::optional<double>> metrics = {std::nullopt, 0.2, std::nullopt,
                                                      std::nullopt};
  EXPECT_EQ(survivors(metrics, 2), std::vector<std::size_t>{1});
  EXPECT_TRUE(survivors(std::vector<std::optional<double>>(4), 2).empty());
}

}  // namespace
}  // namespace penstock::tools
