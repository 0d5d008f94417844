#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

// These functions lay out what commands print: for the width of the terminal, or as lines of JSON.

/// Returns true if standard output is a terminal whose user wants colours: NO_COLOR is empty, and
/// TERM is not dumb.
[[nodiscard]] bool wants_colour();

/// Returns the width of standard output in columns: that of the terminal, else COLUMNS, both at
/// least 40, else 80.
[[nodiscard]] std::size_t output_columns();

/// Returns a sentence wrapped to the width of standard output, with a newline at the end.
[[nodiscard]] std::string output_line(std::string_view sentence);

/// Wraps the help of `app`, and of the commands that are added to it later, to the width of the
/// output. Examples, which begin with blanks, stay in one line.
void narrow_help(CLI::App& app);

/// Returns one object of nlohmann-json as a line. Bytes that are not UTF-8, which a path may hold,
/// become U+FFFD.
template <class Json>
std::string json_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::tools
