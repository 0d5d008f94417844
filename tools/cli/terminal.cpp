#include "tools/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
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

/// NarrowFormatter wraps CLI11's help to the width of the output.
class NarrowFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return wrapped(CLI::Formatter::make_description(app), output_columns());
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return item(make_option_name(option, is_positional) + make_option_opts(option),
                make_option_desc(option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return item(command->get_display_name(true), command->get_description());
  }

  /// Wraps each line of the footer by itself. Examples begin with a blank, and are commands to be
  /// copied: they stay as they are.
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = CLI::Formatter::make_footer(app);
    std::string text;
    for (std::size_t begin = 0; begin < footer.size();) {
      const std::size_t end = footer.find('\n', begin);
      const std::string line = footer.substr(begin, end - begin);
      text += (line.starts_with(' ') ? line : wrapped(line, output_columns())) + "\n";
      begin = end + 1;
    }
    return text;
  }

 private:
  /// Formats a name, with its description in a column of its own.
  std::string item(const std::string& name, const std::string& text) const {
    constexpr std::size_t further = 6;  // indent of further lines of a long name
    const std::size_t column = get_column_width();
    std::string lines = "  " + wrapped(name, output_columns(), further);
    if (text.empty()) return lines + "\n";
    if (lines.size() >= column)
      lines += "\n" + std::string(column, ' ');
    else
      lines.resize(column, ' ');
    return lines + wrapped(text, output_columns(), column) + "\n";
  }
};

}  // namespace

bool wants_colour() {
  return isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

// A pipe has no width, and neither has a test. COLUMNS lets its user ask for one.
std::size_t output_columns() {
  std::size_t columns = columns_of_terminal();
  if (columns == 0) columns = columns_of_environment();
  return columns == 0 ? kUsual : std::max(columns, kMin);
}

std::string output_line(std::string_view sentence) {
  return wrapped(sentence, output_columns()) + "\n";
}

void narrow_help(CLI::App& app) { app.formatter(std::make_shared<NarrowFormatter>()); }

}  // namespace penstock::tools
