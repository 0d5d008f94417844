#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock::tools {

// CLI11's tree of commands and options is the one table from which help, completion and manual
// pages follow. These functions read it.

/// Returns the commands below `app`, in the order of its help. Groups of options are none.
[[nodiscard]] std::vector<const CLI::App*> commands(const CLI::App& app);

/// Returns the options and arguments that the help of `app` lists, those of its groups too.
[[nodiscard]] std::vector<const CLI::Option*> listed_options(const CLI::App& app);

/// Returns true if a value follows the option: it is no flag.
[[nodiscard]] bool takes_value(const CLI::Option& option);

/// Returns the kinds of values that the option takes, as its help shows them: {"FILE", "MODEL"} for
/// FILE|MODEL. What follows a colon are checks.
[[nodiscard]] std::vector<std::string> value_kinds(const CLI::Option& option);

/// Returns the words among which the option's value must be, or none if it may be another.
[[nodiscard]] std::vector<std::string> value_choices(const CLI::Option& option);

}  // namespace penstock::tools
