#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock {

using TableRows = std::vector<std::vector<std::string>>;

/// Rows of cells as lines of text of at most `columns`, the first row a heading. Columns of numbers
/// are set flush right, all others flush left. Where a table is too wide, headings and texts wrap
/// in their cells; where that does not do, it comes in blocks of columns, which all begin with the
/// first one. Numbers never break. A line is wider only where a word without a place to break is.
[[nodiscard]] std::string table_text(const TableRows& rows, std::size_t columns);

}  // namespace penstock
