#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Columns that a text takes on a terminal: its code points.
[[nodiscard]] std::size_t text_width(std::string_view text);

/// A number, or numbers with their units: "1,024", "-0.5", "≥ 16.23 ms", "2.7 %", "–" for none.
[[nodiscard]] bool is_quantity(std::string_view text);

/// The text in lines of at most `columns`. Lines break at spaces; a number and a single character,
/// as × or |, stay with the word after them. A word that is wider than a line breaks after a comma,
/// hyphen, plus, slash, dot, colon or underscore, else nowhere: then its line is wider. What the
/// text itself has in lines stays so.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// The narrowest that wrap() makes without breaking words of up to `whole` columns.
[[nodiscard]] std::size_t least_width(std::string_view text, std::size_t whole);

/// wrap() as one text, whose lines but the first begin with `indent` blanks; `columns` count these,
/// in the first line as well. Ends without a newline.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns,
                                  std::size_t indent = 0);

}  // namespace penstock
