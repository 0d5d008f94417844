#include "tools/reports/training/chart_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::tools {
namespace {

std::vector<std::string> labels(const ChartScale& scale) {
  std::vector<std::string> texts;
  for (const Tick& tick : scale.ticks()) texts.push_back(tick.label);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ChartScale, RoundsSizesUp) {
  EXPECT_DOUBLE_EQ(round_size(0.3), 0.5);
  EXPECT_DOUBLE_EQ(round_size(1), 1);
  EXPECT_DOUBLE_EQ(round_size(1000), 1000);
  EXPECT_DOUBLE_EQ(round_size(1001), 2000);
  EXPECT_DOUBLE_EQ(round_size(5.1e-7), 1e-6);
}

TEST(ChartScale, LinearTicksAreRoundNumbers) {
  EXPECT_EQ(labels(ChartScale::linear(0, 43, 5)), (Texts{"0", "10", "20", "30", "40", "50"}));
  EXPECT_EQ(labels(ChartScale::linear(-0.3, 0.7, 5)),
            (Texts{"-0.4", "-0.2", "0", "0.2", "0.4", "0.6", "0.8"}));
  EXPECT_EQ(labels(ChartScale::linear(0, 0.15, 3)), (Texts{"0", "0.05", "0.10", "0.15"}));
  EXPECT_EQ(labels(ChartScale::linear(0, 1.5e-4, 3)), (Texts{"0", "5e-5", "1e-4", "1.5e-4"}));
  EXPECT_EQ(labels(ChartScale::linear(0, 25000, 3)), (Texts{"0", "10,000", "20,000", "30,000"}));
  EXPECT_EQ(labels(ChartScale::linear(0, 4e6, 4)), (Texts{"0", "1 M", "2 M", "3 M", "4 M"}));
  EXPECT_EQ(labels(ChartScale::linear(0, 2e38, 2)), (Texts{"0", "1e38", "2e38"}));
}

/// Whatever the values are, they lie within the axis, and its ends are ticks.
TEST(ChartScale, LinearAxisHoldsItsValues) {
  for (const double least : {-7.3e-5, -1.0, 0.0, 0.999, 12.7, 3e5})
    for (const double size : {1e-6, 0.37, 1.0, 99.9, 1e7})
      for (const int ticks : {2, 3, 5, 8}) {
        const ChartScale scale = ChartScale::linear(least, least + size, ticks);
        const auto count = scale.ticks().size();
        EXPECT_GE(count, 2u);
        EXPECT_LE(count, static_cast<std::size_t>(ticks) + 2) << least << " " << size;
        EXPECT_LE(scale.least(), least + 1e-9 * size);
        EXPECT_GE(scale.most(), least + size * (1 - 1e-9));
        EXPECT_NEAR(scale.ticks().front().value, scale.least(), 1e-9 * size);
        EXPECT_NEAR(scale.ticks().back().value, scale.most(), 1e-9 * size);
      }
}

/// The longest text leaves room for its axis: 58 units, of which a digit takes about 7.
TEST(ChartScale, NearlyEqualValuesHaveShortTexts) {
  for (const double size : {1e-9, 0.0123456789, 0.999123, 12.345678, 98765.4321, 999'999.0,
                            1234567.8, 12345678.9, 1.2345e9, 1.2345e11, 1.2345e15, 1.2345e299})
    for (const double share : {1e-15, 1e-9, 1e-5, 1e-3})
      for (const double sign : {-1.0, 1.0}) {
        const double a = sign * size, b = a * (1 + share);
        const ChartScale scale = ChartScale::linear(std::min(a, b), std::max(a, b), 5);
        EXPECT_LE(scale.least(), std::min(a, b) + 1e-12 * size);
        EXPECT_GE(scale.most(), std::max(a, b) - 1e-12 * size);
        const Texts texts = labels(scale);
        EXPECT_GE(texts.size(), 2u);
        EXPECT_LE(texts.size(), 8u);
        for (std::size_t i = 0; i < texts.size(); ++i) {
          EXPECT_LE(std::ranges::count_if(texts[i],
                                          [](char c) { return c != ',' && c != '.' && c != '-'; }),
                    8)
              << texts[i];
          if (i > 0) {
            EXPECT_NE(texts[i], texts[i - 1]) << size << " " << share;
          }
        }
      }
}

/// The greatest and the least values that a curve may have overflow in no difference or step.
TEST(ChartScale, ExtremeValuesHavePlaces) {
  constexpr double kTiny = 5e-324, kHuge = 1e300;
  for (const auto& [least, most] : {std::pair(-kHuge, kHuge),
                                    {0.0, kTiny},
                                    {-kTiny, kTiny},
                                    {kTiny, kTiny},
                                    {kTiny, 1.0},
                                    {0.0, 1e-299},
                                    {kHuge, kHuge},
                                    {-kHuge, kTiny}}) {
    const ChartScale scale = ChartScale::linear(least, most, 5);
    EXPECT_LT(scale.least(), scale.most());
    for (const double value : {least, most}) {
      EXPECT_GE(scale.place(value), 0) << least << " " << most;
      EXPECT_LE(scale.place(value), 1) << least << " " << most;
    }
    EXPECT_GE(scale.ticks().size(), 2u);
    EXPECT_LE(scale.ticks().size(), 8u);
  }
  EXPECT_DOUBLE_EQ(ChartScale::logarithmic(1e-300, 1e300, 6).place(1), 0.5);
  EXPECT_LT(ChartScale::of_steps(1e18, 1e18, 6).place(1e18), 1);
}

TEST(ChartScale, OneValueGetsRoom) {
  for (const double value : {-3.0, 0.0, 1e-5, 250.0}) {
    const ChartScale scale = ChartScale::linear(value, value, 5);
    EXPECT_LT(scale.least(), scale.most());
    EXPECT_TRUE(std::isfinite(scale.place(value)));
  }
}

TEST(ChartScale, StepsKeepTheirEnds) {
  const ChartScale scale = ChartScale::of_steps(0, 1234, 6);
  EXPECT_EQ(scale.least(), 0);
  EXPECT_EQ(scale.most(), 1234);
  EXPECT_EQ(labels(scale), (Texts{"0", "500", "1,000"}));
  EXPECT_EQ(labels(ChartScale::of_steps(0, 2, 6)), (Texts{"0", "1", "2"}));
  EXPECT_EQ(labels(ChartScale::of_steps(0, 0, 6)), (Texts{"0", "1"}));
}

TEST(ChartScale, LogarithmicTicksAreRoundNumbers) {
  EXPECT_EQ(labels(ChartScale::logarithmic(2.3, 148, 6)),
            (Texts{"2", "5", "10", "20", "50", "100", "200"}));
  EXPECT_EQ(labels(ChartScale::logarithmic(0.02, 90000, 6)), (Texts{"0.01", "1", "100", "10,000"}));
  EXPECT_EQ(labels(ChartScale::logarithmic(0.02, 90000, 7)),
            (Texts{"0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000"}));
  EXPECT_LE(ChartScale::logarithmic(1e-12, 1e30, 6).ticks().size(), 7u);
  EXPECT_EQ(labels(ChartScale::logarithmic(5, 5, 6)), (Texts{"5", "10"}));
}

TEST(ChartScale, PlacesValuesBetweenItsEnds) {
  const ChartScale linear = ChartScale::linear(0, 50, 5);
  EXPECT_DOUBLE_EQ(linear.place(0), 0);
  EXPECT_DOUBLE_EQ(linear.place(12.5), 0.25);
  EXPECT_DOUBLE_EQ(linear.place(1e9), 1);
  const ChartScale ratios = ChartScale::logarithmic(1, 100, 6);
  EXPECT_DOUBLE_EQ(ratios.place(10), 0.5);
  EXPECT_DOUBLE_EQ(ratios.place(0), 0);
}

}  // namespace
}  // namespace penstock::tools
