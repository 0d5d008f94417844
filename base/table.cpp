// This file fits a table into a width. Each column has three widths: `natural`, at which nothing
// breaks; `body`, at which the heading may break but no cell below it; `min`, at which texts
// break as well, but not below kComfort. The first that fits is taken: all columns natural; between
// body and natural; between min and body, where spare columns go to the narrowest first; and at
// last blocks of columns, each laid out by the same rule.

#include "base/table.h"

#include <algorithm>
#include <numeric>

#include "base/wrap.h"

namespace penstock {
namespace {

constexpr std::size_t kGap = 2;       // blanks between columns
constexpr std::size_t kComfort = 14;  // texts are not wrapped narrower than this
constexpr std::size_t kWhole = 24;    // words wider than this may break

using Widths = std::vector<std::size_t>;

/// A Column has the width at which nothing wraps (natural), at which only the heading wraps (body),
/// and the minimum. It says if all cells below the heading are numbers.
struct Column {
  std::size_t natural = 0, body = 0, min = 0;
  bool numbers = true;
};

/// Returns the width of a cell's widest line: a cell may hold line breaks of its own.
std::size_t widest_line(const std::string& cell) {
  std::size_t width = 0;
  for (const std::string& line : wrap(cell, std::string::npos))
    width = std::max(width, text_width(line));
  return width;
}

std::vector<Column> columns_in(const TableRows& rows) {
  std::vector<Column> columns;
  for (const auto& row : rows) {
    const bool heading = &row == &rows.front();
    columns.resize(std::max(columns.size(), row.size()), Column{.numbers = rows.size() > 1});
    for (std::size_t c = 0; c < row.size(); ++c) {
      Column& column = columns[c];
      const bool number = is_quantity(row[c]);
      const std::size_t width = widest_line(row[c]);
      const std::size_t min = number ? width : min_width(row[c], kWhole);
      column.natural = std::max(column.natural, width);
      column.body = std::max(column.body, heading ? min : width);
      column.min = std::max(column.min, min);
      if (!heading && !row[c].empty() && !number) column.numbers = false;
    }
  }
  for (Column& column : columns) column.min = std::max(column.min, std::min(column.body, kComfort));
  return columns;
}

std::size_t total(const Widths& widths) {
  return std::reduce(widths.begin(), widths.end()) + kGap * (widths.size() - 1);
}

/// Widens columns up to `max`, the narrowest first, until the line is full.
Widths widened(Widths widths, const Widths& max, std::size_t room) {
  for (std::size_t left = room - total(widths); left > 0; --left) {
    std::size_t narrowest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (widths[c] < max[c] && (narrowest == widths.size() || widths[c] < widths[narrowest]))
        narrowest = c;
    if (narrowest == widths.size()) break;
    ++widths[narrowest];
  }
  return widths;
}

/// Tries three layouts: nothing wraps, only headings wrap, or texts wrap too. If none fits, the
/// minimum stands, and lines are wider than the room.
Widths fitted(const std::vector<Column>& columns, std::size_t room) {
  Widths natural, body, min;
  for (const Column& column : columns) {
    natural.push_back(column.natural);
    body.push_back(column.body);
    min.push_back(column.min);
  }
  if (total(natural) <= room) return natural;
  if (total(body) <= room) return widened(body, natural, room);
  return total(min) <= room ? widened(min, body, room) : min;
}

std::string without_blanks_at_end(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

/// Formats a row as lines. Cells of a heading end at the bottom, others begin at the top.
std::string row_text(const std::vector<std::string>& row, const std::vector<Column>& columns,
                     const Widths& widths, bool heading) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < row.size(); ++c) {
    cells.push_back(wrap(row[c], widths[c]));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t h = 0; h < height; ++h) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::size_t above = heading ? height - cells[c].size() : 0;
      const bool blank = h < above || h - above >= cells[c].size();
      const std::string part = blank ? "" : cells[c][h - above];
      const std::string fill(widths[c] - std::min(widths[c], text_width(part)), ' ');
      if (c > 0) line += std::string(kGap, ' ');
      line += columns[c].numbers ? fill + part : part + fill;
    }
    text += without_blanks_at_end(line) + "\n";
  }
  return text;
}

/// Formats rows as one block. Widths are measured again, as a block has columns of its own.
std::string block_text(const TableRows& rows, std::size_t room) {
  const std::vector<Column> columns = columns_in(rows);
  const Widths widths = fitted(columns, room);
  std::string text;
  for (const auto& row : rows) text += row_text(row, columns, widths, &row == &rows.front());
  return text;
}

/// Returns the columns of each block beside the first one, at most `max` of them per block.
std::vector<Widths> blocks_of(const std::vector<Column>& columns, std::size_t room,
                              std::size_t max) {
  std::vector<Widths> blocks(1);
  std::size_t taken = columns.front().min;
  for (std::size_t c = 1; c < columns.size(); ++c) {
    const std::size_t width = kGap + columns[c].min;
    const bool full = taken + width > room || blocks.back().size() == max;
    if (full && !blocks.back().empty()) {
      blocks.emplace_back();
      taken = columns.front().min;
    }
    blocks.back().push_back(c);
    taken += width;
  }
  return blocks;
}

}  // namespace

std::string table_text(const TableRows& rows, std::size_t columns) {
  const std::vector<Column> all = columns_in(rows);
  auto blocks = blocks_of(all, columns, all.size());
  if (blocks.size() == 1) return block_text(rows, columns);
  // The columns are spread evenly over as many blocks.
  blocks = blocks_of(all, columns, (all.size() + blocks.size() - 2) / blocks.size());
  std::string text;
  for (const Widths& block : blocks) {
    TableRows part;
    for (const auto& row : rows) {
      part.push_back({row.empty() ? "" : row.front()});
      for (const std::size_t c : block) part.back().push_back(c < row.size() ? row[c] : "");
    }
    text += (text.empty() ? "" : "\n") + block_text(part, columns);
  }
  return text;
}

}  // namespace penstock
