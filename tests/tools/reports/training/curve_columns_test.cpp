#include "tools/reports/training/curve_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace penstock::tools {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CurveColumns, ShortCurvesKeepEachPoint) {
  const std::vector<CurvePoint> curve = {{1, 3}, {2, 5}, {7, -1}};
  const auto columns = curve_columns(curve, {.first = 0, .last = 9, .columns = 10});
  ASSERT_EQ(columns.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(columns[i].step(), static_cast<double>(curve[i].step));
    EXPECT_EQ(columns[i].mean, curve[i].value);
    EXPECT_EQ(columns[i].finite, 1);
  }
}

/// Columns are ranges of steps whose sizes differ by at most one, and each number is that of a loop
/// over all points.
TEST(CurveColumns, LongCurvesAreAsBruteForceSays) {
  std::mt19937 random(3);
  for (const std::int64_t last : {10, 11, 97, 1003, 4999}) {
    std::vector<CurvePoint> curve;
    for (std::int64_t step = 0; step <= last; ++step)
      if (random() % 4 != 0)
        curve.push_back({step, random() % 9 == 0 ? kNan : static_cast<double>(random() % 1000)});
    const auto columns = curve_columns(curve, {.first = 0, .last = last, .columns = 10});
    ASSERT_LE(columns.size(), 10u);
    std::int64_t before = -1, points = 0;
    for (const CurveColumn& column : columns) {
      EXPECT_GT(column.first, before);
      EXPECT_LE(column.last - column.first, last / 10 + 1);
      before = column.last;
      double sum = 0, least = 1e9, most = -1e9;
      std::int64_t finite = 0, faults = 0;
      for (const auto& [step, value] : curve) {
        if (step < column.first || step > column.last) continue;
        if (std::isnan(value)) {
          ++faults;
          continue;
        }
        ++finite;
        sum += value;
        least = std::min(least, value);
        most = std::max(most, value);
      }
      EXPECT_EQ(column.finite, finite);
      EXPECT_EQ(column.not_finite, faults);
      points += finite + faults;
      if (finite == 0) continue;
      EXPECT_EQ(column.least, least);
      EXPECT_EQ(column.most, most);
      EXPECT_NEAR(column.mean, sum / static_cast<double>(finite), 1e-9);
    }
    EXPECT_EQ(points, static_cast<std::int64_t>(curve.size()));
  }
}

TEST(CurveColumns, NoPointHasNoColumn) {
  EXPECT_TRUE(curve_columns({}, {.first = 0, .last = 1}).empty());
}

TEST(CurveColumns, ColumnsWithoutFiniteNumbersAreCounted) {
  const std::vector<CurvePoint> curve = {{1, kNan}, {2, std::numeric_limits<double>::infinity()}};
  const auto columns = curve_columns(curve, {.first = 1, .last = 2, .columns = 1});
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].finite, 0);
  EXPECT_EQ(columns[0].not_finite, 2);
  EXPECT_EQ(columns[0].mean, 0);
}

}  // namespace
}  // namespace penstock::tools
