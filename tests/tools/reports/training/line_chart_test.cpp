#include "tools/reports/training/line_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <regex>

namespace penstock::tools {
namespace {

/// A line whose columns have the values, one point each, from step 1 on.
ChartLine make_line(const std::string& name, const std::vector<double>& values) {
  ChartLine line{name};
  std::vector<CurvePoint> curve;
  for (const double value : values)
    curve.push_back({static_cast<std::int64_t>(curve.size()) + 1, value});
  line.columns = curve_columns(curve, {.first = 0, .last = 512, .columns = 513});
  return line;
}

LineChart make_chart(std::vector<ChartLine> lines) {
  return {.id = "loss", .title = "Loss", .first = 0, .last = 512, .lines = std::move(lines)};
}

/// Returns the drawing commands of the paths of a class.
std::vector<std::string> paths(const std::string& html, const std::string& kind) {
  const std::string svg = html.substr(0, html.find("</svg>"));
  std::vector<std::string> found;
  const std::regex path("<path class=\"" + kind + " l[0-7]\" d=\"([^\"]*)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), path), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

/// The plot spans x from 66 to 578 and y from 208 up to 14, so a step is a unit wide.
TEST(LineChart, DrawsPointsAtTheirPlaces) {
  const std::string html = chart_html(make_chart({make_line("training", {0, 50, 25})}));
  EXPECT_EQ(paths(html, "line"), (std::vector<std::string>{"M67.0 208.0h0L68.0 14.0L69.0 111.0"}));
  EXPECT_NE(html.find(">50</text>"), std::string::npos);
  EXPECT_NE(html.find(">500</text>"), std::string::npos);
  EXPECT_EQ(html.find("legend"), std::string::npos);
}

TEST(LineChart, BreaksWhereNumbersAreNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::string html = chart_html(make_chart({make_line("training", {0, 50, infinite, 25})}));
  EXPECT_EQ(paths(html, "line"),
            (std::vector<std::string>{"M67.0 208.0h0L68.0 14.0M70.0 111.0h0"}));
  EXPECT_EQ(paths(html, "fault"), (std::vector<std::string>{"M69.0 2.0l4.5 8h-9z"}));
  EXPECT_NE(html.find("not a finite number"), std::string::npos);
}

TEST(LineChart, BandSpansEachColumn) {
  ChartLine line{"training"};
  line.columns = {{.first = 1, .last = 3, .finite = 3, .least = 0, .mean = 20, .most = 50},
                  {.first = 4, .last = 6, .finite = 2, .least = 25, .mean = 30, .most = 40}};
  const std::string html = chart_html(make_chart({line}));
  EXPECT_EQ(paths(html, "band"),
            (std::vector<std::string>{"M68.0 14.0L71.0 52.8L71.0 111.0L68.0 208.0Z"}));
  EXPECT_NE(html.find("least to greatest"), std::string::npos);
}

/// Neighbours without a finite number leave a column alone, whose band is a vertical line.
TEST(LineChart, BandOfOneColumnIsALine) {
  ChartLine line{"training"};
  line.columns = {{.first = 1, .last = 2, .not_finite = 2},
                  {.first = 3, .last = 5, .finite = 2, .least = 0, .mean = 20, .most = 50},
                  {.first = 6, .last = 7, .not_finite = 2}};
  const std::string html = chart_html(make_chart({line}));
  EXPECT_EQ(paths(html, "band"), (std::vector<std::string>{"M70.0 14.0L70.0 208.0Z"}));
}

/// The peak of one step among a hundred thousand reaches the top of the band.
TEST(LineChart, BandKeepsAPeak) {
  std::vector<CurvePoint> curve;
  for (std::int64_t step = 1; step <= 100'000; ++step)
    curve.push_back({step, step == 50'000 ? 50.0 : 0.0});
  ChartLine line{"training", curve_columns(curve, {.first = 1, .last = 100'000, .columns = 512})};
  LineChart chart = make_chart({line});
  chart.last = 100'000;
  const auto bands = paths(chart_html(chart), "band");
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_NE(bands[0].find(" 14.0L"), std::string::npos);
}

/// Losses at the ends of what a double holds are drawn, or marked as not finite.
TEST(LineChart, ExtremeValuesHaveNumbers) {
  for (const std::vector<double>& values : {std::vector<double>{1.7e308, -1.7e308, 1},
                                            {5e-324, 5e-324},
                                            {5e-324, 1},
                                            {1e300, -1e300, 5e-324}}) {
    LineChart chart = make_chart({make_line("training", values)});
    chart.may_be_logarithmic = true;
    const std::string html = chart_html(chart);
    EXPECT_EQ(html.find("nan"), std::string::npos) << html;
    EXPECT_EQ(html.find("inf"), std::string::npos) << html;
  }
  const std::string html = chart_html(make_chart({make_line("training", {1.7e308, -1.7e308, 1})}));
  EXPECT_EQ(paths(html, "fault"),
            (std::vector<std::string>{"M67.0 2.0l4.5 8h-9zM68.0 2.0l4.5 8h-9z"}));
}

TEST(LineChart, LinesDifferByMoreThanColour) {
  std::vector<ChartLine> lines;
  for (std::size_t i = 0; i < kLineStyles; ++i)
    lines.push_back(make_line("run", {static_cast<double>(i), 1, 2}));
  const std::string html = chart_html(make_chart(lines));
  std::vector<std::string> marks;
  for (const std::string& path : paths(html, "mark"))
    marks.push_back(path.substr(path.find('m'), path.find('M', 1) - path.find('m')));
  EXPECT_EQ(marks.size(), kLineStyles - 1);  // the first has none
  std::ranges::sort(marks);
  EXPECT_EQ(std::ranges::unique(marks).size(), 0u);
}

TEST(LineChart, LogarithmicOnlyForPositiveValues) {
  LineChart chart = make_chart({make_line("training", {1, 100, 10})});
  chart.may_be_logarithmic = true;
  const std::string html = chart_html(chart);
  EXPECT_NE(html.find("log scale"), std::string::npos);
  EXPECT_EQ(paths(html, "line"), (std::vector<std::string>{"M67.0 208.0h0L68.0 14.0L69.0 111.0"}));
  for (const std::vector<double>& values : {std::vector<double>{0, 100}, {10, 100}}) {
    chart.lines = {make_line("training", values)};
    EXPECT_EQ(chart_html(chart).find("log scale"), std::string::npos);
  }
}

TEST(LineChart, TextsAreEscaped) {
  LineChart chart = make_chart({make_line("<i>a", {1}), make_line("b", {2})});
  chart.title = "<b>&";
  const std::string html = chart_html(chart);
  EXPECT_NE(html.find("&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(html.find("&lt;i&gt;a"), std::string::npos);
  EXPECT_EQ(html.find("<i>a"), std::string::npos);
}

TEST(LineChart, NoPointsAreNoChart) { EXPECT_EQ(chart_html(make_chart({{"training"}})), ""); }

TEST(LineChart, DrawsAChartWithoutFiniteNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string html = chart_html(make_chart({make_line("training", {nan, nan})}));
  EXPECT_EQ(paths(html, "fault").size(), 1u);
  EXPECT_TRUE(paths(html, "line").empty());
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
