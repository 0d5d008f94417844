#include "tools/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/wrap.h"

namespace penstock::tools {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr std::size_t kUsual = 80, kMin = 40;

std::size_t columns_of_terminal() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Returns COLUMNS, or 0 if it is no number.
std::size_t columns_of_environment() {
  const std::string_view text = environment("COLUMNS");
  std::size_t columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns;
}

}  // namespace

bool wants_colour() {
  return isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

std::size_t output_columns() {
  std::size_t columns = columns_of_terminal();
  if (columns == 0) columns = columns_of_environment();
  return columns == 0 ? kUsual : std::max(columns, kMin);
}

std::string output_line(std::string_view sentence) {
  return wrapped(sentence, output_columns()) + "\n";
}

}  // namespace penstock::tools
