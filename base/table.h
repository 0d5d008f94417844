#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock {

using TableRows = std::vector<std::vector<std::string>>;

/// Formats rows of cells as lines of at most `columns` characters. The first row is a heading.
/// Columns of numbers are flush right, all others flush left. If a table is too wide, headings and
/// texts wrap in their cells; if that is not enough, it is split into blocks of columns, each
/// beginning with the first column. Numbers never break. A line is wider only if a word in it has
/// no place to break.
[[nodiscard]] std::string table_text(const TableRows& rows, std::size_t columns);

}  // namespace penstock
