#include "tools/cli/narrow_help.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/wrap.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

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

void narrow_help(CLI::App& app) { app.formatter(std::make_shared<NarrowFormatter>()); }

}  // namespace penstock::tools
