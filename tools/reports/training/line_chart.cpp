#include "tools/reports/training/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/reports/training/chart_scale.h"
#include "tools/reports/training/html_text.h"

// A chart has 600 by 250 units, of which it fills the page's width. A page of 700 pixels shows it
// 1.1 times as large, one of 1,200 pixels shows two charts beside each other, at 0.94 times. So
// text of 13 units is legible on both, and a column of the curves is about a pixel wide.

namespace penstock::tools {
namespace {

constexpr double kWidth = 600, kHeight = 250;
constexpr double kLeft = 66, kRight = kLeft + kChartColumns, kTop = 14, kBottom = 208;
constexpr std::size_t kMarked = 24;  // points of a line that are all marked
constexpr double kRatio = 20;        // of a logarithmic axis

/// The axes of a chart, which place its values on its canvas.
struct ChartAxes {
  ChartScale steps, values;
  double x(double step) const { return kLeft + (kRight - kLeft) * steps.place(step); }
  double y(double value) const { return kBottom - (kBottom - kTop) * values.place(value); }
};

ChartScale value_scale(const LineChart& chart) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const ChartLine& line : chart.lines)
    for (const CurveColumn& column : line.columns)
      if (column.finite > 0) {
        least = std::min(least, column.least);
        most = std::max(most, column.most);
      }
  if (least > most) return ChartScale::linear(0, 1, 5);  // no value is finite
  if (chart.may_be_logarithmic && least >= kLeastShown && most / least >= kRatio)
    return ChartScale::logarithmic(least, most, 8);
  if (chart.from_zero) least = std::min(least, 0.0);
  return ChartScale::linear(least, most, 5);
}

/// Returns grid, ticks and their texts.
std::string axes_svg(const LineChart& chart, const ChartAxes& axes) {
  std::string grid, texts;
  for (const Tick& tick : axes.values.ticks()) {
    const double y = axes.y(tick.value);
    grid += fmt::format("M{:.1f} {:.1f}H{:.1f}", kLeft, y, kRight);
    texts += fmt::format("<text class=\"y\" x=\"{:.0f}\" y=\"{:.1f}\">{}{}</text>", kLeft - 8,
                         y + 4.5, tick.label, html_text(chart.unit));
  }
  for (const Tick& tick : axes.steps.ticks()) {
    const double x = axes.x(tick.value);
    grid += fmt::format("M{:.1f} {:.1f}v5", x, kBottom);
    texts += fmt::format("<text class=\"x\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x, kBottom + 19,
                         tick.label);
  }
  texts += fmt::format("<text class=\"axis\" x=\"{:.0f}\" y=\"{:.0f}\">step</text>", kRight,
                       kHeight - 5);
  return fmt::format("<path class=\"grid\" d=\"{}\"/>{}", grid, texts);
}

/// Returns the line's path. It is broken where columns have no finite number; a column alone is a
/// dot.
std::string line_path(const ChartLine& line, const ChartAxes& axes) {
  std::string path;
  bool drawing = false;
  for (const CurveColumn& column : line.columns) {
    if (column.finite > 0)
      path += fmt::format("{}{:.1f} {:.1f}{}", drawing ? "L" : "M", axes.x(column.step()),
                          axes.y(column.mean), drawing ? "" : "h0");
    drawing = column.finite > 0;
  }
  return path;
}

/// Returns the outline of the bands between the least and the greatest values, a polygon for each
/// run of columns; "" if all columns hold one value. The outline is drawn too, so a column alone is
/// a vertical line, although its polygon has no area.
std::string band_path(const ChartLine& line, const ChartAxes& axes) {
  const auto& columns = line.columns;
  if (std::ranges::none_of(columns, [](const CurveColumn& c) { return c.finite > 1; })) return "";
  std::string path;
  for (std::size_t begin = 0, end = 0; begin < columns.size(); begin = end + 1) {
    for (end = begin; end < columns.size() && columns[end].finite > 0;) ++end;
    if (end == begin) continue;
    for (std::size_t i = begin; i < end; ++i)
      path += fmt::format("{}{:.1f} {:.1f}", i == begin ? "M" : "L", axes.x(columns[i].step()),
                          axes.y(columns[i].most));
    for (std::size_t i = end; i-- > begin;)
      path += fmt::format("L{:.1f} {:.1f}", axes.x(columns[i].step()), axes.y(columns[i].least));
    path += 'Z';
  }
  return path;
}

/// Returns the outline of a line's mark around a point, or "" for the first line, which has none.
std::string mark_path(std::size_t style, double x, double y) {
  constexpr const char* kMarks[kLineStyles] = {"",
                                               "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                               "m-3.3 -3.3h6.6v6.6h-6.6z",
                                               "m0 -4.4l4 7h-8z",
                                               "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
                                               "m0 4.4l4 -7h-8z",
                                               "m-4.5 -1.4h9v2.8h-9z",
                                               "m-1.4 -4.5h2.8v9h-2.8z"};
  const char* mark = kMarks[style % kLineStyles];
  return *mark == '\0' ? "" : fmt::format("M{:.1f} {:.1f}{}", x, y, mark);
}

/// Returns marks at all points of a short line, and at some of a long one; those of different lines
/// lie apart.
std::string marks_path(const ChartLine& line, std::size_t style, const ChartAxes& axes) {
  std::string path;
  const std::size_t count = line.columns.size();
  const std::size_t every = count <= kMarked ? 1 : count / 8;
  for (std::size_t i = every == 1 ? 0 : (style + 1) * every / (kLineStyles + 1); i < count;
       i += every)
    if (const CurveColumn& column = line.columns[i]; column.finite > 0)
      path += mark_path(style, axes.x(column.step()), axes.y(column.mean));
  return path;
}

/// Returns triangles at the top for columns with numbers that are not finite.
std::string faults_path(const ChartLine& line, const ChartAxes& axes) {
  std::string path;
  for (const CurveColumn& column : line.columns)
    if (column.not_finite > 0)
      path += fmt::format("M{:.1f} {:.1f}l4.5 8h-9z", axes.x(column.step()), kTop - 12);
  return path;
}

std::string path_svg(const char* kind, std::size_t style, const std::string& path) {
  if (path.empty()) return "";
  return fmt::format("<path class=\"{} l{}\" d=\"{}\"/>", kind, style % kLineStyles, path);
}

std::string legend_html(const LineChart& chart, bool has_bands, bool has_faults) {
  std::string entries;
  if (chart.lines.size() > 1)
    for (std::size_t i = 0; i < chart.lines.size(); ++i)
      entries += fmt::format(
          "<li><svg viewBox=\"0 0 34 12\">{}{}</svg>{}</li>", path_svg("line", i, "M2 6H32"),
          path_svg("mark", i, mark_path(i, 17, 6)), html_text(chart.lines[i].name));
  if (has_bands)
    entries +=
        "<li><svg viewBox=\"0 0 34 12\"><path class=\"band l0\" d=\"M2 1H32V11H2z\"/></svg>"
        "least to greatest</li>";
  if (has_faults)
    entries +=
        "<li><svg viewBox=\"0 0 34 12\"><path class=\"fault l0\" d=\"M17 1l4.5 8h-9z\"/>"
        "</svg>not a finite number</li>";
  return entries.empty() ? "" : fmt::format("<ul class=\"legend\">{}</ul>", entries);
}

}  // namespace

std::string chart_html(const LineChart& chart) {
  if (std::ranges::all_of(chart.lines, [](const ChartLine& line) { return line.columns.empty(); }))
    return "";
  const ChartAxes axes{
      ChartScale::of_steps(static_cast<double>(chart.first), static_cast<double>(chart.last), 6),
      value_scale(chart)};
  std::string bands, lines, faults;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    bands += path_svg("band", i, band_path(line, axes));
    lines += path_svg("line", i, line_path(line, axes));
    lines += path_svg("mark", i, marks_path(line, i, axes));
    faults += path_svg("fault", i, faults_path(line, axes));
  }
  std::string note = chart.note;
  if (axes.values.is_logarithmic()) note += note.empty() ? "log scale" : ", log scale";
  return fmt::format(
      "<figure class=\"chart{14}\"><figcaption><b>{0}</b> {1}</figcaption>\n"
      "<svg viewBox=\"0 0 {2:.0f} {3:.0f}\" role=\"img\" aria-label=\"{0} over steps\" "
      "data-chart=\"{4}\" data-plot=\"{5:.0f} {6:.0f} {7:.0f} {8:.0f}\">{9}{10}{11}{12}</svg>\n"
      "{13}</figure>\n",
      html_text(chart.title), html_text(note), kWidth, kHeight, chart.id, kLeft, kRight, kTop,
      kBottom, axes_svg(chart, axes), bands, lines, faults,
      legend_html(chart, !bands.empty(), !faults.empty()), chart.lines.size() > 2 ? " many" : "");
}

}  // namespace penstock::tools
