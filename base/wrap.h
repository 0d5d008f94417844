#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Returns the columns that a text takes on a terminal, counted as its code points.
[[nodiscard]] std::size_t text_width(std::string_view text);

/// Returns true for a number, or numbers with their units: "1,024", "-0.5", "≥ 16.23 ms", "2.7 %",
/// or "–" for none.
[[nodiscard]] bool is_quantity(std::string_view text);

/// Returns the text in lines of at most `columns`. Lines break at spaces. A number or a single
/// character, such as × or |, stays with the word after it. A word that is wider than a line breaks
/// after a comma, hyphen, plus, slash, dot, colon or underscore; if it has none, its line is wider.
/// Line breaks of the text stay.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// Returns the smallest width to which wrap() can go without breaking words of up to `whole`
/// columns.
[[nodiscard]] std::size_t min_width(std::string_view text, std::size_t whole);

/// Returns wrap() as one text, without a newline at the end. All lines but the first begin with
/// `indent` blanks; `columns` include these, in the first line as well.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns,
                                  std::size_t indent = 0);

}  // namespace penstock
