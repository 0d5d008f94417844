#include "tools/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/cli/command_table.h"
#include "tools/cli/value_completion.h"

// The scripts for the shells know nothing of penstock. At each press of Tab they run
// `penstock __complete WORD...`, and this file answers from the same table that parses the command
// line. So nothing can be missing or out of date, and a test needs no shell. An answer takes as
// long as penstock --version.

namespace penstock::tools {
namespace {

/// Describes the place of a word: what the words before it have chosen.
struct Place {
  const CLI::App* command = nullptr;
  const CLI::Option* option = nullptr;  // it waits for its value
  bool only_arguments = false;          // after --
  int arguments = 0;                    // so many are given
};

const CLI::App* named_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : commands(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

bool names_option(const Place& place, const std::string& word) {
  return !place.only_arguments && word.starts_with('-') && word.size() > 1;
}

/// Returns the option of "--name" or "--name=value", or a null pointer if there is none.
const CLI::Option* named_option(const CLI::App& app, const std::string& word) {
  return app.get_option_no_throw(word.substr(0, word.find('=')));
}

void pass(Place& place, const std::string& word) {
  if (place.option != nullptr) {
    place.option = nullptr;
  } else if (word == "--") {
    place.only_arguments = true;
  } else if (names_option(place, word)) {
    const CLI::Option* option = named_option(*place.command, word);
    const bool waits =
        option != nullptr && takes_value(*option) && word.find('=') == std::string::npos;
    place.option = waits ? option : nullptr;
  } else if (const CLI::App* command = named_command(*place.command, word);
             command != nullptr && place.arguments == 0) {
    place.command = command;
  } else {
    ++place.arguments;
  }
}

/// Returns the argument that comes next, or a null pointer if no further one is taken.
const CLI::Option* next_argument(const Place& place) {
  int before = place.arguments;
  for (const CLI::Option* option : listed_options(*place.command)) {
    if (!option->get_positional()) continue;
    if (before < option->get_items_expected_max()) return option;
    before -= option->get_items_expected_max();
  }
  return nullptr;
}

void add_option_names(const CLI::App& app, const std::string& begun, Completions& found) {
  for (const CLI::Option* option : listed_options(app))
    for (const std::string& name : option->get_lnames())
      if (("--" + name).starts_with(begun))
        found.candidates.push_back({"--" + name, option->get_description()});
}

/// Adds the values of "--name=", with the option's name before each.
void add_values_after_name(const CLI::App& app, const std::string& word, Completions& found) {
  const CLI::Option* option = named_option(app, word);
  if (option == nullptr || !takes_value(*option)) return;
  const std::size_t name = word.find('=') + 1;
  Completions values;
  add_values(*option, word.substr(name), values);
  for (Candidate& value : values.candidates) value.word.insert(0, word, 0, name);
  found = std::move(values);
}

}  // namespace

Completions completions(const CLI::App& program, std::span<const std::string> words) {
  Completions found;
  if (words.empty()) return found;
  Place place{.command = &program};
  for (const std::string& word : words.first(words.size() - 1)) pass(place, word);
  const std::string& begun = words.back();
  if (place.option != nullptr) {
    add_values(*place.option, begun, found);
  } else if (!place.only_arguments && begun.starts_with('-')) {
    if (begun.find('=') != std::string::npos)
      add_values_after_name(*place.command, begun, found);
    else
      add_option_names(*place.command, begun, found);
  } else {
    if (place.arguments == 0)
      for (const CLI::App* command : commands(*place.command))
        if (command->get_name().starts_with(begun))
          found.candidates.push_back({command->get_name(), command->get_description()});
    if (const CLI::Option* argument = next_argument(place)) add_values(*argument, begun, found);
  }
  return found;
}

std::string completion_lines(const Completions& completions) {
  std::string lines;
  for (const Candidate& each : completions.candidates)
    lines += fmt::format("{}\t{}\n", each.word, each.meaning);
  if (completions.files) lines += ":files\n";
  if (completions.folders && !completions.files) lines += ":folders\n";
  return lines;
}

}  // namespace penstock::tools
