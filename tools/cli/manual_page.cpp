#include "tools/cli/manual_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "tools/cli/command_table.h"

// The pages are written from CLI11's table, as --help is, so they say the same. help2man, which
// reads the text of --help, takes the lines of examples for one paragraph and knows no commands
// below a command.

namespace penstock::tools {
namespace {

constexpr std::string_view kExamples = "Examples:";

/// Returns text in which troff finds no requests: quotes, hyphens and the like stay what they are.
std::string plain(std::string_view text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        safe += "\\e";
        break;
      case '-':
        safe += "\\-";
        break;
      case '\'':
        safe += "\\(aq";
        break;
      case '`':
        safe += "\\(ga";
        break;
      case '^':
        safe += "\\(ha";
        break;
      case '~':
        safe += "\\(ti";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

/// Returns "\fB-o\fR, \fB--output\fR" or the name of an argument.
std::string option_name(const CLI::Option& option) {
  if (option.get_positional()) return italic(option.get_name());
  std::string names;
  const auto add = [&names](const std::string& name) {
    names += (names.empty() ? "" : ", ") + bold(name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  return names;
}

std::string item(const std::string& name, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", name, plain(text));
}

/// Returns a section with the arguments, or with the options.
std::string option_section(const CLI::App& app, bool arguments) {
  std::string items;
  for (const CLI::Option* option : listed_options(app))
    if (option->get_positional() == arguments)
      items += item(option_name(*option) + plain(CLI::Formatter().make_option_opts(option)),
                    option->get_description());
  return items.empty() ? "" : fmt::format(".SH {}\n{}", arguments ? "ARGUMENTS" : "OPTIONS", items);
}

std::string synopsis(const CLI::App& app, const std::string& called) {
  std::string line = ".SH SYNOPSIS\n" + bold(called) + " [" + italic("OPTIONS") + "]";
  for (const CLI::Option* option : listed_options(app)) {
    if (!option->get_positional()) continue;
    const bool several = option->get_items_expected_max() > 1;
    const std::string argument = italic(option->get_name()) + (several ? "..." : "");
    line += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return line + (commands(app).empty() ? "\n" : " " + italic("COMMAND") + " ...\n");
}

/// Returns a footer's text. Lines that begin with a blank stay lines, and others fill paragraphs.
std::string footer_text(std::string_view footer) {
  std::string text;
  bool lines = false, apart = false;  // apart: the next line begins a paragraph
  for (std::size_t begin = 0; begin < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', begin), footer.size());
    const std::string_view line = footer.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line == kExamples) {
      apart = true;
      continue;
    }
    const bool kept = line.starts_with(' ');
    if (lines && !kept) text += ".fi\n";
    if ((apart || (kept && !lines)) && !text.empty()) text += ".PP\n";
    if (kept && !lines) text += ".nf\n";
    text += plain(line.substr(std::min(line.find_first_not_of(' '), line.size()))) + "\n";
    lines = kept;
    apart = false;
  }
  return lines ? text + ".fi\n" : text;
}

/// Returns a description without a point at its end, for a line that is no sentence.
std::string phrase(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// Returns the head of a page, up to its description.
std::string head(const CLI::App& app, const std::string& name, const ManualEdition& edition) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"{}\" \"penstock {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     plain(title), edition.date, edition.version, plain(name),
                     plain(phrase(app.get_description())));
}

std::string command_section(const CLI::App& app, const std::string& name) {
  std::string items;
  for (const CLI::App* command : commands(app))
    items += item(bold(name + "-" + command->get_name()) + "(1)", command->get_description());
  return items.empty() ? "" : ".SH COMMANDS\n" + items;
}

/// Adds the page of a command, called "penstock train", and those of the commands below it.
/// `parent` is the name of the page above it, or "".
void add_page(const CLI::App& app, const std::string& called, const std::string& parent,
              const ManualEdition& edition, std::vector<ManualPage>& pages) {
  std::string name = called;
  std::ranges::replace(name, ' ', '-');
  const std::string footer = app.get_footer();
  const std::size_t examples = std::min(footer.find(kExamples), footer.size());
  std::string text = head(app, name, edition) + synopsis(app, called) + ".SH DESCRIPTION\n" +
                     plain(phrase(app.get_description())) + ".\n";
  if (examples > 0) text += ".PP\n" + footer_text(std::string_view(footer).substr(0, examples));
  text += option_section(app, true) + option_section(app, false) + command_section(app, name);
  if (examples < footer.size())
    text += ".SH EXAMPLES\n" + footer_text(std::string_view(footer).substr(examples));
  if (!parent.empty()) text += ".SH SEE ALSO\n.BR " + plain(parent) + " (1)\n";
  pages.push_back({name, text});
  for (const CLI::App* command : commands(app))
    add_page(*command, called + " " + command->get_name(), name, edition, pages);
}

}  // namespace

std::vector<ManualPage> manual_pages(const CLI::App& program, const ManualEdition& edition) {
  std::vector<ManualPage> pages;
  add_page(program, program.get_name(), "", edition, pages);
  return pages;
}

}  // namespace penstock::tools
