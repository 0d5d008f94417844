#include "tools/cli/command_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ranges>

namespace penstock::tools {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

}  // namespace

std::vector<const CLI::App*> commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

// A group has a --help of its own. Newer versions of CLI11 list the options of groups with those of
// their command, and again in the group.
std::vector<const CLI::Option*> listed_options(const CLI::App& app) {
  std::vector<const CLI::Option*> listed;
  const auto add = [&listed](const CLI::App& holder) {
    for (const CLI::Option* option : holder.get_options()) {
      const auto same = [option](const CLI::Option* other) {
        return other->get_name() == option->get_name();
      };
      if (!option->get_group().empty() && std::ranges::none_of(listed, same))
        listed.push_back(option);
    }
  };
  add(app);
  for (const CLI::App* group :
       app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); }))
    add(*group);
  return listed;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> value_kinds(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return split(std::string_view(name).substr(0, name.find(':')), '|');
}

// CLI::IsMember puts its set into the name of the type, in braces.
std::vector<std::string> value_choices(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const std::size_t begin = name.find(":{"), end = name.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split(std::string_view(name).substr(begin + 2, end - begin - 2), ',');
}

}  // namespace penstock::tools
