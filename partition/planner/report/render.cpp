#include "partition/planner/report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/wrap.h"

// A step is drawn to scale, one line for each rank. If half of the actions are at least a column
// wide, each action is a bar from its first to its last column. Otherwise bars would be a random
// sample of narrow actions, so each column summarises the time that falls into it:
//
//   rank 0 |F0-F1-F2-G0==G1==G2==|      bars
//   rank 0 |FFFFFF####GGGGGGGG..|       a summary

namespace penstock::partition {
namespace {

/// A Look is how bars of a kind are drawn: their letter, and the filler up to their end.
struct Look {
  char letter, filler;
};

constexpr std::array<Look, 4> kLooks{{{'F', '-'}, {'B', '='}, {'W', '~'}, {'G', '='}}};

/// Returns the kind's index in kLooks. A backward of both gradients is the last one, G.
int place_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return 0;
    case ActionKind::backward_input:
      return 1;
    case ActionKind::backward_weight:
      return 2;
    default:
      return 3;
  }
}

/// The characters of a line, and the kind of each: F, B, W, G, or a blank.
struct Line {
  std::string text, kinds;

  void resize(std::size_t size) {
    text.resize(size, ' ');
    kinds.resize(size, ' ');
  }
};

/// Returns true if no earlier chunk lies on the same rank. Later ones are drawn in lower case.
bool is_of_first_chunk(const Schedule& schedule, const Action& action) {
  const int rank = schedule.chunk_rank[action.chunk];
  return std::ranges::find(schedule.chunk_rank, rank) - schedule.chunk_rank.begin() == action.chunk;
}

/// Returns the bar of an action, `columns` wide.
std::string bar(const Schedule& schedule, const Action& action, std::size_t columns) {
  const Look look = kLooks[place_of(action.kind)];
  const char letter = is_of_first_chunk(schedule, action)
                          ? look.letter
                          : static_cast<char>(look.letter - 'A' + 'a');
  std::string text = fmt::format("{}{}", letter, action.micro_batch);
  if (text.size() > columns) text = std::string(1, letter);
  text.resize(columns, look.filler);
  return text;
}

/// Draws the computations of a rank. Start and end are rounded in the same way, so a bar ends where
/// the next one begins, and lines of all ranks have the same width.
Line bars(const Schedule& schedule, const std::vector<TimedAction>& actions, int width,
          double scale) {
  const auto column = [&](double time) {
    return static_cast<std::size_t>(std::lround(time * scale));
  };
  Line line;
  for (const TimedAction& timed : actions) {
    if (!computes(timed.action.kind)) continue;
    line.resize(column(timed.start));
    line.text += bar(schedule, timed.action, column(timed.end) - column(timed.start));
    line.kinds.resize(line.text.size(), kLooks[place_of(timed.action.kind)].letter);
  }
  line.resize(std::max<std::size_t>(width, line.text.size()));
  return line;
}

/// Shares of a column's time, by kind.
using Shares = std::array<double, kLooks.size()>;

/// Returns the mean shares of a column and its neighbours. Columns and passes have different
/// periods, and the mean hides the pattern that would result.
Shares smoothed(const std::vector<Shares>& columns, std::size_t column) {
  const std::size_t first = column - std::min<std::size_t>(column, 1);
  const std::size_t last = std::min(column + 1, columns.size() - 1);
  Shares mean{};
  for (std::size_t c = first; c <= last; ++c)
    for (std::size_t kind = 0; kind < mean.size(); ++kind)
      mean[kind] += columns[c][kind] / static_cast<double>(last - first + 1);
  return mean;
}

/// Returns the character of a summary column. See render() for its meaning.
char summary_of(const Shares& shares) {
  const double busy = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (busy < 0.25) return ' ';
  if (busy < 0.75) return '.';
  const auto max = std::ranges::max_element(shares);
  return 4 * *max >= 3 * busy ? kLooks[max - shares.begin()].letter : '#';
}

/// Draws a summary: an action adds, to each column that it touches, the share of the column that it
/// covers.
Line summary(const std::vector<TimedAction>& actions, int width, double scale) {
  std::vector<Shares> columns(width, Shares{});
  for (const TimedAction& timed : actions) {
    if (!computes(timed.action.kind)) continue;
    const double start = timed.start * scale, end = std::min<double>(timed.end * scale, width);
    for (int c = static_cast<int>(start); c < end; ++c)
      columns[c][place_of(timed.action.kind)] +=
          std::min<double>(end, c + 1) - std::max<double>(start, c);
  }
  Line line;
  for (std::size_t c = 0; c < columns.size(); ++c) line.text += summary_of(smoothed(columns, c));
  line.kinds = line.text;
  return line;
}

/// Returns a terminal colour: blue, yellow, green, magenta, or grey for mixed columns.
const char* colour_of(char kind) {
  switch (kind) {
    case 'F':
      return "\x1b[34m";
    case 'B':
      return "\x1b[33m";
    case 'W':
      return "\x1b[32m";
    case 'G':
      return "\x1b[35m";
    default:
      return "\x1b[90m";
  }
}

/// Adds an escape sequence where the kind changes, and a reset where it ends, so that blanks and
/// the "|" at the end of a line have no colour.
std::string coloured(const Line& line) {
  std::string text;
  for (std::size_t i = 0; i < line.text.size(); ++i) {
    const char kind = line.kinds[i];
    if (kind != ' ' && (i == 0 || line.kinds[i - 1] != kind)) text += colour_of(kind);
    text += line.text[i];
    const bool ends = i + 1 == line.text.size() || line.kinds[i + 1] != kind;
    if (kind != ' ' && ends) text += "\x1b[0m";
  }
  return text;
}

/// Returns the smallest tick of 1, 2 or 5 times a power of ten whose labels fit.
double tick_of(double makespan, int width) {
  constexpr int apart = 12;  // columns
  const double min = makespan * apart / width;
  const double power = std::pow(10, std::floor(std::log10(min)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= min * (1 - 1e-9)) return times * power;
  return 10 * power;
}

/// Returns the number of digits of the highest rank.
std::size_t digits_of(const Simulation& simulation) {
  return fmt::formatted_size("{}", static_cast<int>(simulation.ranks.size()) - 1);
}

/// Draws ticks and their labels on two lines below the ranks. A label begins under its tick. One
/// that would run over the right end is moved left, and one that would overlap its predecessor
/// is left out.
std::string axis(double makespan, const Picture& picture, std::size_t indent) {
  const double tick = tick_of(makespan, picture.width);
  std::string marks(picture.width, ' '), labels;
  std::size_t written = 0;
  for (int i = 0; i * tick <= makespan * (1 + 1e-9); ++i) {
    const auto at =
        std::min<std::size_t>(std::lround(i * tick / makespan * picture.width), picture.width - 1);
    marks[at] = '^';
    const std::string label = picture.time(i * tick);
    const std::size_t size = text_width(label);
    const std::size_t last = picture.width + 1 - std::min<std::size_t>(picture.width, size);
    const std::size_t begin = std::min(at, last);
    if (begin < written) continue;
    labels += std::string(begin - written, ' ') + label;
    written = begin + size;
  }
  marks.erase(marks.find_last_not_of(' ') + 1);
  const std::string margin(indent, ' ');
  return margin + marks + "\n" + margin + labels + "\n";
}

/// Returns the ranks that are drawn. The first and the last rank are among them.
std::vector<int> drawn_ranks(int ranks, int max) {
  const int drawn = std::min(ranks, std::max(max, 2));
  std::vector<int> list;
  for (int i = 0; i < drawn; ++i)
    list.push_back(drawn < 2 ? 0 : static_cast<int>(std::int64_t{i} * (ranks - 1) / (drawn - 1)));
  return list;
}

}  // namespace

// The median action decides: a few long actions do not make the others readable.
bool is_summary(const Simulation& simulation, int width) {
  std::vector<double> lengths;
  for (const auto& rank : simulation.ranks)
    for (const TimedAction& timed : rank)
      if (computes(timed.action.kind) && timed.end > timed.start)
        lengths.push_back(timed.end - timed.start);
  if (lengths.empty()) return false;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  return *middle * width < simulation.makespan * (1 - 1e-9);
}

// Ten columns are drawn even if the terminal has fewer, since nothing could be read otherwise.
int picture_width(const Simulation& simulation, std::size_t columns) {
  const std::size_t around = std::string("rank  ||").size() + digits_of(simulation);
  return static_cast<int>(std::max(columns, around + 10) - around);
}

std::string render(const Schedule& schedule, const Simulation& simulation, const Picture& picture) {
  const int ranks = static_cast<int>(simulation.ranks.size());
  const std::size_t digits = digits_of(simulation);
  const double scale = simulation.makespan > 0 ? picture.width / simulation.makespan : 0;
  const bool sums = is_summary(simulation, picture.width);
  std::string text;
  for (const int rank : drawn_ranks(ranks, picture.max_ranks)) {
    const auto& actions = simulation.ranks[rank];
    const Line line = sums ? summary(actions, picture.width, scale)
                           : bars(schedule, actions, picture.width, scale);
    text += fmt::format("rank {:>{}} |{}|\n", rank, digits,
                        picture.colour ? coloured(line) : line.text);
  }
  if (picture.time && simulation.makespan > 0)
    text += axis(simulation.makespan, picture, std::string("rank  |").size() + digits);
  return text;
}

}  // namespace penstock::partition
