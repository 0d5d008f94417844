#pragma once

#include <string>

#include "tools/cli/completion.h"

namespace CLI {
class Option;
}  // namespace CLI

namespace penstock::tools {

/// Adds the values of an option or argument that begin with `begun`, by the kinds that its help
/// names: a choice in braces, MODEL, DEVICE, CLUSTER, SCHEDULE, KEY=VALUE, FOLDER, FILE or TEXT. No
/// values are known of other kinds, such as numbers.
void add_values(const CLI::Option& option, const std::string& begun, Completions& found);

}  // namespace penstock::tools
