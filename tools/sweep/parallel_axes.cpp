#include "tools/sweep/parallel_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/unicode.h"
#include "tools/reports/training/html_text.h"

// Runs have one of three looks: the best run, the best fifth, and the others. Runs that halving
// left behind, and those that have not ended, are dashed, since they had fewer steps. The lines of
// better runs are drawn later, so that they lie above. A wide, invisible line under each lets the
// pointer find it.
//
// Text of 13 units keeps about that size: the drawing grows to 1.15 times its units, and a narrow
// page shows it at 0.84 times or scrolls. More than five axes keep their distance.

namespace penstock::tools {
namespace {

constexpr double kLeft = 96, kRightRoom = 40, kDistance = 128, kLeastWidth = 760;
constexpr double kTop = 52, kBottom = 350, kHeight = 368;
constexpr std::size_t kMostWords = 16;    // marks beside an axis
constexpr std::size_t kLongestWord = 14;  // characters of a mark
constexpr double kLogarithmicRatio = 20;  // of a metric's axis

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Sorts numbers by size, if all words are numbers.
void sort_numbers(std::vector<std::string>& words) {
  if (!std::ranges::all_of(words, [](const auto& word) { return number_in(word).has_value(); }))
    return;
  std::ranges::stable_sort(words, {}, [](const std::string& word) { return *number_in(word); });
}

ParallelAxis axis_of_key(const SweepAxis& key) {
  const std::size_t point = key.key.find('.');
  ParallelAxis axis{.section = key.key.substr(0, point), .name = key.key.substr(point + 1)};
  if (key.is_range()) {
    axis.scale = key.logarithmic ? ChartScale::logarithmic(key.low, key.high, 6)
                                 : ChartScale::linear(key.low, key.high, 6);
  } else {
    axis.words = key.values;
    sort_numbers(axis.words);
  }
  return axis;
}

/// Returns the axis of the metric, in percent for rates; nothing if no run has one.
std::optional<ParallelAxis> axis_of_metric(const SweepOutcome& outcome) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const SweptRun& run : outcome.runs) {
    if (!run.result.best) continue;
    least = std::min(least, *run.result.best);
    most = std::max(most, *run.result.best);
  }
  if (least > most) return std::nullopt;
  const bool rate = outcome.plan.metric != "loss";
  if (rate) {
    least *= 100;
    most *= 100;
  }
  ParallelAxis axis{.section = rate ? "%" : "", .name = metric_name(outcome.plan.metric)};
  axis.scale = least >= kLeastShown && most / least >= kLogarithmicRatio
                   ? ChartScale::logarithmic(least, most, 6)
                   : ChartScale::linear(least, most, 6);
  return axis;
}

/// Returns a text of at most kLongestWord characters.
std::string shortened(const std::string& text) {
  const std::u32string characters = decode_utf8(text).characters;
  if (characters.size() <= kLongestWord) return text;
  return to_utf8(characters.substr(0, kLongestWord - 1)) + "…";
}

/// The places of the axes on the canvas.
struct Canvas {
  std::size_t axes = 0;
  double width() const {
    return std::max(kLeastWidth, kLeft + kRightRoom + kDistance * static_cast<double>(axes - 1));
  }
  double x(std::size_t axis) const {
    return kLeft + (width() - kLeft - kRightRoom) * static_cast<double>(axis) /
                       static_cast<double>(axes - 1);
  }
  static double y(double place) { return kBottom - (kBottom - kTop) * place; }
};

std::string axis_svg(const ParallelAxis& axis, double x) {
  std::string svg = fmt::format(
      "<path class=\"grid\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/>"
      "<text class=\"x\" x=\"{0:.1f}\" y=\"14\">{3}</text>"
      "<text class=\"x name\" x=\"{0:.1f}\" y=\"32\">{4}</text>",
      x, kTop, kBottom, html_text(axis.section), html_text(axis.name));
  for (const Tick& mark : axis.marks())
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}h-5\"/>"
        "<text class=\"y\" x=\"{2:.1f}\" y=\"{3:.1f}\">{4}</text>",
        x, Canvas::y(mark.value), x - 9, Canvas::y(mark.value) + 4.5, html_text(mark.label));
  return svg;
}

/// Returns the values of a run on all axes, as text.
std::vector<std::string> values_of_run(const SweepOutcome& outcome, std::size_t i) {
  std::vector<std::string> values = outcome.plan.points[i];
  const double metric = outcome.runs[i].result.best.value_or(0);
  values.push_back(fmt::format("{}", outcome.plan.metric == "loss" ? metric : 100 * metric));
  return values;
}

std::string run_svg(const std::vector<ParallelAxis>& axes, const Canvas& canvas,
                    const std::vector<std::string>& values, std::size_t i,
                    const std::string& look) {
  std::string path;
  for (std::size_t a = 0; a < axes.size(); ++a)
    path += fmt::format("{}{:.1f} {:.1f}", a == 0 ? "M" : "L", canvas.x(a),
                        Canvas::y(axes[a].place(values[a])));
  return fmt::format(
      "<g class=\"run {0}\" data-run=\"{1}\"><path class=\"hit\" d=\"{2}\"/><path "
      "d=\"{2}\"/></g>\n",
      look, i, path);
}

/// The looks that runs of a drawing have, besides "rest".
struct UsedLooks {
  bool best = false, good = false, dashed = false;
};

std::string legend_of_looks(const UsedLooks& used) {
  std::string html = "<ul class=\"legend\">";
  const auto entry = [&](const char* look, const char* text) {
    html += fmt::format(
        "<li><svg viewBox=\"0 0 34 12\"><g class=\"run {}\"><path d=\"M2 6H32\"/></g></svg>{}</li>",
        look, text);
  };
  if (used.best) entry("best", "best run");
  if (used.good) entry("good", "best fifth");
  entry("rest", "others");
  if (used.dashed) entry("rest dashed", "fewer steps than asked for");
  return html + "</ul>";
}

}  // namespace

double ParallelAxis::place(const std::string& value) const {
  if (words.empty()) return scale.place(number_in(value).value_or(scale.least()));
  if (words.size() == 1) return 0.5;
  const auto found = std::ranges::find(words, value);
  return static_cast<double>(found - words.begin()) / static_cast<double>(words.size() - 1);
}

std::vector<Tick> ParallelAxis::marks() const {
  std::vector<Tick> marks;
  if (words.empty()) {
    for (const Tick& tick : scale.ticks()) marks.push_back({scale.place(tick.value), tick.label});
    return marks;
  }
  const std::size_t every = (words.size() + kMostWords - 1) / kMostWords;
  for (std::size_t i = 0; i < words.size(); i += every)
    marks.push_back({place(words[i]), shortened(words[i])});
  return marks;
}

std::vector<ParallelAxis> parallel_axes(const SweepOutcome& outcome) {
  std::vector<ParallelAxis> axes;
  for (const SweepAxis& key : outcome.plan.axes) axes.push_back(axis_of_key(key));
  if (auto metric = axis_of_metric(outcome)) axes.push_back(*metric);
  return axes;
}

std::string parallel_axes_html(const SweepOutcome& outcome) {
  const std::vector<ParallelAxis> axes = parallel_axes(outcome);
  if (axes.size() == outcome.plan.axes.size()) return "";
  const Canvas canvas{axes.size()};
  std::vector<std::size_t> order = ranked_runs(outcome);
  std::erase_if(order, [&](std::size_t i) { return !outcome.runs[i].result.best; });
  const std::size_t good = (order.size() + 4) / 5;
  std::string lines, marks;
  UsedLooks used{.best = best_run(outcome).has_value()};
  for (std::size_t rank = order.size(); rank-- > 0;) {
    const std::size_t i = order[rank];
    const RunState state = outcome.runs[i].result.state;
    const bool dashed = state != RunState::done;
    const bool is_good = state != RunState::failed && rank > 0 && rank < good;
    used.dashed = used.dashed || dashed;
    used.good = used.good || is_good;
    const std::string look = rank == 0 && used.best ? "best" : is_good ? "good" : "rest";
    lines += run_svg(axes, canvas, values_of_run(outcome, i), i, dashed ? look + " dashed" : look);
  }
  for (std::size_t a = 0; a < axes.size(); ++a) marks += axis_svg(axes[a], canvas.x(a));
  return fmt::format(
      "<div class=\"scroll\"><svg class=\"parallel\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "style=\"min-width: {2:.0f}px; max-width: {6:.0f}px\" role=\"img\" aria-label=\"Parallel "
      "coordinates of the "
      "runs\">\n"
      "{3}{4}</svg></div>\n{5}\n",
      canvas.width(), kHeight, canvas.width() * 0.84, lines, marks, legend_of_looks(used),
      canvas.width() * 1.15);
}

}  // namespace penstock::tools
