#include "tools/cli/time_limit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/cli/options.h"

namespace penstock::tools {

void add_time_limit(CLI::App* command, double& seconds) {
  constexpr double kMax = 1e6;
  takes_number(command->add_option(
                   "--time-limit", seconds,
                   fmt::format("End the search after so many seconds, with the best plan so far. "
                               "Default: {:g}",
                               kTimeLimit)),
               {0, kMax});
}

std::string words_of(const TimeLimit& limit) {
  return fmt::format(
      "--time-limit {:g} ended it: this is the best plan so far, and a longer search may find a "
      "better one",
      limit.seconds());
}

}  // namespace penstock::tools
