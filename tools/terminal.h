#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::tools {

/// Whether standard output is a terminal whose user wants colours: NO_COLOR is empty, TERM is not
/// dumb.
[[nodiscard]] bool wants_colour();

/// How wide what goes to standard output may be: as the terminal, of which at least 40 columns
/// count; else what COLUMNS says, else 80.
[[nodiscard]] std::size_t output_columns();

/// A sentence for standard output, wrapped to its width, with a newline at the end.
[[nodiscard]] std::string output_line(std::string_view sentence);

}  // namespace penstock::tools
