#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::tools {

/// Returns true if standard output is a terminal whose user wants colours: NO_COLOR is empty, and
/// TERM is not dumb.
[[nodiscard]] bool wants_colour();

/// Returns the width of standard output in columns: that of the terminal, else COLUMNS, both at
/// least 40, else 80.
[[nodiscard]] std::size_t output_columns();

/// Returns a sentence wrapped to the width of standard output, with a newline at the end.
[[nodiscard]] std::string output_line(std::string_view sentence);

}  // namespace penstock::tools
