#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/reports/training/curve_columns.h"

namespace penstock::tools {

/// A line of a chart.
struct ChartLine {
  std::string name;
  std::vector<CurveColumn> columns = {};
};

/// A chart of lines over steps.
struct LineChart {
  std::string id;          // of the page's data, a word of letters and hyphens
  std::string title;       // such as "Loss"
  std::string note = {};   // such as the unit
  std::string unit = {};   // follows each number: " %"
  bool from_zero = false;  // the axis begins at 0
  bool may_be_logarithmic = false;
  std::int64_t first = 0, last = 0;  // steps
  std::vector<ChartLine> lines = {};
};

inline constexpr int kChartColumns = 512;  // of pixels, in which a chart shows its lines
inline constexpr std::size_t kLineStyles = 8;

/// Returns a chart as HTML: a figure with SVG and, for several lines, a legend. It takes its
/// colours from the page's style, so it follows the theme. A line is the mean of each column, with
/// a band from the least to the greatest value where columns hold several points. Triangles at the
/// top mark columns with numbers that are not finite. Lines differ by colour, dashes and marks.
/// Returns "" if no line has a point.
///
/// The axis is logarithmic if that is allowed, and the finite values are positive, none of them
/// less than kLeastShown, and differ by a factor of 20 or more.
[[nodiscard]] std::string chart_html(const LineChart& chart);

}  // namespace penstock::tools
