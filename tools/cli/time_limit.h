#pragma once

#include <string>

#include "base/time_limit.h"

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

inline constexpr double kTimeLimit = 30;  // seconds

/// Adds --time-limit to a command that searches.
void add_time_limit(CLI::App* command, double& seconds);

/// Returns the meaning of a limit that ended a search, for people.
[[nodiscard]] std::string words_of(const TimeLimit& limit);

}  // namespace penstock::tools
